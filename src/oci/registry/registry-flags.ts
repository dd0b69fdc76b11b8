/** The flags of a command that asks registries. */

export interface RegistryAccess {
  /** PEM file with certificates that are trusted too. */
  readonly ca?: string;
  /** Hosts that are asked without TLS, besides this machine. */
  readonly plainHttp?: readonly string[];
  /** Seconds after which a request that fails is not tried again. Default: 60; 300 where images are pushed. */
  readonly timeout?: number;
}
