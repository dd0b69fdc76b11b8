/** The registry of all problem codes, with their exit codes. */

export const exitCodes = {
  ok: 0,
  /** Something failed, or drift was found. */
  failed: 1,
  /** Wrong usage, or a mistake in the matrix, a template, a lock or a facts file. */
  usage: 2,
  /** No image of the lock fits the host. */
  noMatch: 3,
  /** The host cannot be read, or is broken. */
  host: 4,
  /** Container engine or registry. */
  engine: 5,
  /** Something in the registry has the wrong content or the wrong owner. It is left as it is, and not used. */
  conflict: 6,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

const { failed, usage, noMatch, host, engine, conflict, interrupted } = exitCodes;

/**
 * Problem code → exit code. Adding a code is adding a line here, with its meaning and, behind the arrow, what to do about it:
 * docs/errors.md is made of these lines.
 */
export const problemCodes = {
  // Command line
  /** A command, flag or value that does not exist, or flags that contradict each other. → Read the help that the message names. */
  USAGE: usage,
  /** `--only` or `--gpus` names something that does not exist. → Take a name that the message lists. */
  SELECTION_INVALID: usage,
  /** `--only` selects no cell. → `imgmatch plan` lists the cells. */
  SELECTION_EMPTY: usage,
  /** A named file does not exist. → Check the path. */
  FILE_NOT_FOUND: usage,
  /** A named file exists and cannot be read. → Check its permissions. */
  FILE_UNREADABLE: usage,
  /** `init` or `serve --install` would overwrite this file. → Move the file away, or choose another folder. */
  FILE_EXISTS: usage,
  /** The disk is full or read-only, permission is missing, or a link leads out of the project. The old file is unchanged. → Cure the cause that the message names, and repeat the command. */
  WRITE_FAILED: failed,
  /** The system's limit of open files is reached. → Raise `ulimit -n`. */
  TOO_MANY_FILES: failed,
  /** An input is larger than imgmatch reads. → See the limits in what-can-go-wrong.md. */
  INPUT_TOO_LARGE: usage,
  // Matrix
  /** There is no `matrix.yaml` here. → Run `imgmatch init`, or name the matrix with `--matrix`. */
  MATRIX_NOT_FOUND: usage,
  /** The matrix is not YAML. → Correct the place that the caret shows. */
  MATRIX_SYNTAX: usage,
  /** A key does not exist, is missing, or has a value of the wrong shape. → Correct it; matrix-keys.md lists the keys. */
  MATRIX_SCHEMA: usage,
  /** imgmatch does not know this toolkit, compute capability, march, platform or axis. → Take a value that the message or `imgmatch hardware` lists. */
  MATRIX_VALUE_UNKNOWN: usage,
  /** A value could break out of its Dockerfile instruction. → Remove the characters that the message names. */
  MATRIX_VALUE_UNSAFE: usage,
  /** A value or key stands twice. → Remove one of them. */
  MATRIX_DUPLICATE: usage,
  /** A rule of `exclude` matches no cell. → Correct or remove the rule. */
  MATRIX_EXCLUDE_UNUSED: usage,
  /** A case of `compute` or of `values` decides about no cell. → Correct or remove the case. */
  MATRIX_CASE_UNUSED: usage,
  /** A cell of `include` lacks an axis, or names one too many or an unknown one. → Name each axis once. */
  MATRIX_INCLUDE_INVALID: usage,
  /** No cell is left to build. → Loosen `exclude`, or add values; `imgmatch plan` says why each cell is out. */
  MATRIX_EMPTY: usage,
  /** A value looks like a secret, and everybody who has the image could read it. → Use `--secret` instead. */
  MATRIX_SECRET: usage,
  /** The matrix takes its version from the environment or from git, and neither tells it. → Set the variable, fetch the tags, or give a `default`. */
  VERSION_UNKNOWN: usage,
  /** No registry takes this tag or version, or the tag template uses an unknown name. → Correct `tag` or `version`. */
  TAG_INVALID: usage,
  /** Two cells have one tag. → Use `{{cell}}` or `{{inputs}}` in `tag`. */
  TAG_COLLISION: usage,
  /** Two cells have one file name, or names that differ only in case. → Give one of the values another `label`. */
  CELL_COLLISION: usage,
  // Template and Dockerfile
  /** The template does not exist. → Check the path: it is relative to the matrix. */
  TEMPLATE_NOT_FOUND: usage,
  /** The file is no template, or uses a helper that does not exist. → Correct the place that the caret shows. */
  TEMPLATE_SYNTAX: usage,
  /** The template uses a name that templates do not see. → Take a name of the list in matrix.md. */
  TEMPLATE_UNKNOWN_NAME: usage,
  /** Cells differ in `cuda`, `compute` or `march`, and their Dockerfiles are the same. → Use the axis in the template. */
  TEMPLATE_IGNORES_AXIS: usage,
  /** The Dockerfile has no `ARG` for an argument, or the template never names a `--build-arg`. → Declare the argument, or leave it out. */
  ARGUMENT_UNDECLARED: usage,
  /** No builder takes the rendered Dockerfile. → Correct the template. */
  DOCKERFILE_INVALID: usage,
  /** A cell's base is an image of CUDA or ROCm, and the cell declares none. → Give the cell the toolkit's row, or another base. */
  BASE_TOOLKIT_UNDECLARED: usage,
  /** The build context, or a file that the Dockerfile copies from it, does not exist. → Correct `context`, or make the file. */
  CONTEXT_NOT_FOUND: usage,
  /** A file of the build context changed during the build. No image is made of it. → Repeat the build. */
  CONTEXT_CHANGED: failed,
  /** `render --check` found Dockerfiles that are out of date. → Run `imgmatch render`, and commit the result. */
  RENDER_DRIFT: failed,
  // Lock
  /** There is no lock. → Run `imgmatch build --push`, or name a lock with `--lock` or a fleet with `--from`. */
  LOCK_NOT_FOUND: usage,
  /** The lock is not JSON, or holds the markers of a merge. → Take one side, or join both with `imgmatch lock merge`. */
  LOCK_SYNTAX: usage,
  /** The lock holds an impossible value. → Take the lock of the last commit. */
  LOCK_SCHEMA: usage,
  /** Another imgmatch wrote the lock: its `schemaVersion` differs. → Use that imgmatch, or build the lock anew. */
  LOCK_VERSION: usage,
  /** `adopt` wrote this lock, and a matrix needs another lock. → Name another lock with `--lock`. */
  LOCK_ADOPTED: usage,
  /** Other processes have held the lock for more than 10 s. → Wait, or end them. */
  LOCK_BUSY: failed,
  /** Two locks name different digests for one cell, or belong to different fleets. → Build that cell anew on one side. */
  LOCK_MERGE_CONFLICT: failed,
  // Facts of a host
  /** The facts are not JSON. → Write them with `imgmatch probe --json`. */
  FACTS_SYNTAX: usage,
  /** The facts hold an impossible value or an unknown key. → Correct the paths that the message lists. */
  FACTS_SCHEMA: usage,
  /** `/proc` cannot be read. → Mount it, or give the facts in a file. */
  HOST_UNREADABLE: host,
  /** The driver's number says nothing about images: old Jetsons, Windows outside WSL. → Use JetPack 6 or newer, or WSL2. */
  HOST_UNSUPPORTED: host,
  /** Broken: kernel module and user-space library have different versions, mostly after an update. → Reboot, or unload and load the nvidia modules. */
  HOST_DRIVER_LIBRARY_MISMATCH: host,
  /** There is a GPU and no kernel module; or `prove` finds no driver to ask. → Install the driver that the message names, or run `modprobe nvidia`. */
  HOST_NO_DRIVER: host,
  /** nouveau or NovaCore holds the GPU. → Blacklist the module that the message names, install NVIDIA's driver, reboot. */
  HOST_NOUVEAU: host,
  /** Broken: the driver is loaded and finds no GPU, or fewer than the PCI bus has. → Install the flavor or branch that the message names; without a name see dmesg, and power-cycle. */
  HOST_NO_DEVICES: host,
  /** Broken: a GPU has fallen off the bus. → See dmesg for Xid 79; power-cycle; check power, cooling and slot. */
  HOST_GPU_LOST: host,
  /** vfio-pci or another driver holds the GPU. → Bind it to nvidia, or ask inside the virtual machine that has it. */
  HOST_GPU_TAKEN: host,
  /** The GPU does not tell a fact, such as its compute capability. → Update the driver, or write the value into a facts file. */
  HOST_GPU_FIELD_UNKNOWN: host,
  /** This driver, its branch or its flavor, does not drive this card. → Do as the message says: another branch or flavor, or another machine for one card. */
  HOST_GPU_UNSUPPORTED_BY_DRIVER: host,
  /** Broken: the driver answers with an error. → See dmesg for NVRM and Xid lines. Restart the container, or reload the modules, or reboot. */
  HOST_NVML_FAILED: host,
  /** Broken: nvidia-smi ended with an error. → Run it by hand; reinstall the user-space driver. */
  HOST_SMI_FAILED: host,
  /** Broken: nvidia-smi gave no answer and was killed. → See dmesg; a driver that hangs needs a reboot. */
  HOST_SMI_TIMEOUT: host,
  /** Broken: a GPU is in MIG mode and has no instance, so that CUDA finds no device. → Make instances: `nvidia-smi mig -cgi … -C`; or turn MIG off: `nvidia-smi -mig 0`. */
  HOST_MIG_EMPTY: host,
  /** Broken: a GPU is not registered with its NVSwitch fabric, and CUDA fails with 802. → Start nvidia-fabricmanager of the driver's version. */
  HOST_FABRIC_NOT_READY: host,
  /** Broken: a container that was given CUDA has no `/dev/nvidia-uvm`. → Run `nvidia-modprobe -u -c=0` on the host, and start the container with the device. */
  HOST_NO_UVM: host,
  /** nvidia-smi printed something else. → Check that the one in PATH is NVIDIA's. */
  HOST_SMI_GARBAGE: host,
  /** A container was started without its GPUs. → Use `docker run --gpus all`, or `--device nvidia.com/gpu=all`. */
  HOST_CONTAINER_WITHOUT_DEVICES: host,
  /** The devices may not be opened. → Join the group video or render, or be root. */
  HOST_NO_PERMISSION: host,
  /** `CUDA_VISIBLE_DEVICES` names no GPU, or counts unlike GPUs by speed. → Correct it, name GPUs by UUID, set `CUDA_DEVICE_ORDER=PCI_BUS_ID`, or use `--gpus`. */
  HOST_VISIBLE_DEVICES_UNCLEAR: host,
  /** There is an AMD GPU that no amdgpu module drives. → Run `modprobe amdgpu`; bind the GPU to amdgpu. */
  HOST_AMD_NO_DRIVER: host,
  /** Broken: the amdgpu driver is loaded and leaves out an AMD GPU. → See dmesg for lines of kfd and amdgpu. */
  HOST_AMD_GPU_SKIPPED: host,
  /** `/dev/kfd` or the render nodes of AMD GPUs are not there. → Start the container with them: `docker run --device /dev/kfd --device /dev/dri`. */
  HOST_AMD_NO_DEVICES: host,
  /** `/dev/kfd` or the render nodes of AMD GPUs may not be opened. → Join the group render or video, or be root; `docker run --group-add`. */
  HOST_AMD_NO_PERMISSION: host,
  /** The kernel does not tell an AMD GPU's target, and the tables do not know its device id. → Update the kernel, or write `target` into a facts file. */
  HOST_AMD_TARGET_UNKNOWN: host,
  /** `HIP_VISIBLE_DEVICES` or `ROCR_VISIBLE_DEVICES` names a GPU that is not there. → Correct the variable, or unset it. */
  HOST_AMD_VISIBLE_DEVICES_UNCLEAR: host,
  /** The labels of a Kubernetes node do not prove a fact, which stays unknown. → Probe the node itself: `imgmatch probe --json`. */
  HOST_LABELS_INCOMPLETE: host,
  /** Two sources about a Kubernetes node, such as its labels and its ResourceSlices, contradict each other: the fact is unknown. → Remove the one that is out of date. */
  HOST_SOURCES_DISAGREE: host,
  /** No source tells this fact of a machine type, which stays unknown. → Probe one machine of that type: `imgmatch probe --json`. */
  HOST_TYPE_INCOMPLETE: host,
  // Resolve
  /** No image of the lock fits this host. → The message has the nearest images and the smallest change. */
  NO_MATCH: noMatch,
  /** The host is broken, so that no answer would be true. → Repair the host; the message names its state. */
  HOST_BROKEN: host,
  /** The answer depends on a fact of the host that nobody has told. → Add the fact that the message names. */
  FACT_UNKNOWN: host,
  /** No image has the pinned axis. → Pin an axis that the message lists. */
  PIN_UNKNOWN: usage,
  /** No cell and no tag of the lock has this name. → `imgmatch plan` lists the cells. */
  CELL_NOT_FOUND: usage,
  // Export
  /** A value of the lock cannot stand in a script. → Change the value that the message names. */
  EXPORT_UNSAFE: usage,
  // Build
  /** A step of a cell's build failed. → Read the end of its output in the message, or the whole log that it names. */
  BUILD_FAILED: failed,
  /** There is no container engine, or no docker command that builds. → Install one, or name it with `DOCKER_HOST`. */
  ENGINE_NOT_FOUND: engine,
  /** The engine's address is invalid, or nothing answers there. → Start the engine, or correct `DOCKER_HOST`. */
  ENGINE_UNREACHABLE: engine,
  /** The engine answered with an error, or its disk is full. → Do what its message says. */
  ENGINE_FAILED: engine,
  /** imgmatch cannot find the digest of a base image. → Log in, correct the name, or give it by digest. */
  BASE_UNRESOLVED: engine,
  /** A note, which ends no command: a published image has a base that is in no registry, so that only one machine can build it again. → Push the base, and name it in the matrix. */
  BASE_LOCAL: failed,
  /** The base is a cell of another fleet that is not built. → Build that fleet first, or both with `--workspace`. */
  BASE_NOT_BUILT: failed,
  // Registry
  /** This is no image reference, or a `BUILDKIT_SYNTAX` without a digest. → Correct the reference. */
  REFERENCE_INVALID: usage,
  /** Neither the engine nor a registry has this image. → Check the name and the login. */
  IMAGE_NOT_FOUND: engine,
  /** The image is damaged, or is none. The message names layer and entry. → Build or pull it anew. */
  IMAGE_INVALID: engine,
  /** A word of `inspect --expect` does not exist, or its file has a mistake. → Correct the place that the message names. */
  EXPECT_INVALID: usage,
  /** No answer: name, network, TLS or time-out. It never counts as "absent, so build it". → Try again, or see `--ca` and `--plain-http`. */
  REGISTRY_UNREACHABLE: engine,
  /** The registry refuses the login, or a credential helper fails. → Run `docker login` for this registry. */
  REGISTRY_AUTH: engine,
  /** The registry answered with an error. → Read its answer in the message. */
  REGISTRY_FAILED: engine,
  /** The content does not have the digest that was asked for. → Find the proxy or registry that changed it. */
  REGISTRY_DIGEST_MISMATCH: engine,
  /** An answer, a list of tags or an index is larger than imgmatch reads. → See the limits in what-can-go-wrong.md. */
  REGISTRY_ANSWER_TOO_LARGE: engine,
  /** Others may write the folder of `--cache`, or a folder above it. → Take their permission away, or use another folder. */
  CACHE_UNSAFE: usage,
  /** The tag already holds another image. The message names both digests. → Find out who pushed it, then remove that tag or raise the version. */
  TAG_CONFLICT: conflict,
  /** The index of a version, variant or channel names another image for a cell, or is gone. The message names both digests. → Raise the version, or replace the index with `--replace-index`. */
  INDEX_CONFLICT: conflict,
  /** By this move of a channel, hosts would lose their image, or get one of another vendor or CUDA major. → Add the missing images, or use `--allow-loss`. */
  CHANNEL_LOSS: failed,
  /** The index lacks cells that the registry does not have yet. → Publish again when they are built. */
  INDEX_INCOMPLETE: failed,
  /** A note, which ends no command: no image starts on every machine of a platform, so that a plain pull finds none. → Add a cell without GPU code and with a low march. */
  BASELINE_MISSING: failed,
  /** The registry has no such reference. → Check repository and version. */
  INDEX_NOT_FOUND: engine,
  /** `imgmatch publish` did not write this index. → Name an index that it wrote. */
  INDEX_INVALID: engine,
  /** Another imgmatch wrote the index. → Use that imgmatch, or publish a new version. */
  INDEX_FORMAT: engine,
  // Signatures
  /** The registry has no signature of it. → Sign it with `imgmatch publish --sign`. */
  SIGNATURE_MISSING: conflict,
  /** The signature is damaged, forged, or not proved by the log. → Do not use the image; ask who signs it. */
  SIGNATURE_INVALID: conflict,
  /** Somebody else signed it. → Check `--key`, `--identity` or the policy, then who pushed it. */
  SIGNATURE_WRONG_SIGNER: conflict,
  /** The signature is good, and belongs to another image. → Do not use the image; ask who signs it. */
  SIGNATURE_OTHER_DIGEST: conflict,
  /** The signer's certificate was not valid at the time of signing. → Sign anew. */
  CERTIFICATE_EXPIRED: conflict,
  /** The registry has no record of how an image was built. → Build with `attest:` in the matrix. */
  PROVENANCE_MISSING: failed,
  /** The lock and the provenance of an image differ. The message shows both. → Find out which is true before you use the image. */
  PROVENANCE_MISMATCH: conflict,
  /** This engine cannot make the attestations that the matrix asks for, or they would publish a password. → Use another engine, or change `attest:`. */
  ATTEST_UNSUPPORTED: usage,
  /** This is no key that can sign or verify, or its password is wrong. → Check the file and `COSIGN_PASSWORD`. */
  KEY_INVALID: usage,
  /** This is no trusted root of sigstore, or imgmatch cannot get it. → Name the file with `--trusted-root` or `--sign-root`. */
  TRUSTED_ROOT_INVALID: usage,
  /** The signing service, or the authority behind the signer, failed or could not be reached. → Read its answer in the message, and repeat the command. */
  SIGNING_FAILED: engine,
  /** Only the program `cosign` can use this key, and it is not installed. → Install cosign. */
  COSIGN_NOT_FOUND: engine,
  // Trust
  /** The policy has a mistake at this place. → Correct it. */
  TRUST_POLICY: usage,
  /** Others may write the policy, a key that it names, or a folder above. → Take their permission away. */
  TRUST_UNSAFE: usage,
  /** The policy has no rule for this repository. → Add a rule for the repository. */
  TRUST_NO_RULE: conflict,
  /** The index is signed for another fleet, repository or tag. → Do not use it; ask who moved the tag. */
  INDEX_FOREIGN: conflict,
  /** The index is older than one seen before, or its age cannot be told. → Ask who moved the tag back. */
  INDEX_DOWNGRADE: conflict,
  // Files of an image
  /** One of the image's own files needs more than its march has. → Build that file with the march's flags, or declare a higher march. */
  AUDIT_CPU_BEYOND_MARCH: failed,
  /** One of the image's own files was compiled for more than its march has, by all that is known of it. A warning of `build` without `--strict`. → Build that file with the march's flags, or declare a higher march. */
  AUDIT_CPU_COMPILED_FOR: failed,
  /** A warning: a file of the base has code beyond the march. → Declare `cpuFloor`. */
  AUDIT_BASE_BEYOND_MARCH: failed,
  /** No file has code for a declared GPU target, or a library with AMD code has none for it. A warning where only the base has it, or lacks it. → Give the compiler the target. */
  AUDIT_GPU_TARGET_MISSING: failed,
  /** `+ptx` is declared, and no file has PTX. → Give the compiler the `compute_` target. */
  AUDIT_PTX_MISSING: failed,
  /** Another CUDA toolkit compiled the image's own files. → Correct the base or the `cuda` value. */
  AUDIT_TOOLKIT_OTHER: failed,
  /** The image holds another user-space driver than declared. → Correct `driver.version`, or the template. */
  AUDIT_DRIVER_OTHER: failed,
  /** The code needs a newer driver than declared, such as zstd-compressed code of CUDA 12. → Declare `driver.minimum`, or compile without it. */
  AUDIT_DRIVER_FLOOR: failed,
  /** An axis made no difference to images that were built. A warning of `build` without `--strict`. → Use the axis in the template, or remove it. */
  AUDIT_AXIS_UNUSED: failed,
  /** A warning: the image could not be opened, so that nothing was measured. → Read the cause in the message. */
  AUDIT_NOT_OPENED: failed,
  /** The image's files do not say which toolkit or driver they need. → State it: `--cuda`, `--march`. */
  ADOPT_UNDECIDED: failed,
  // Mirror
  /** The mirror's address is taken or not available. → Choose another with `--listen`. */
  LISTEN_FAILED: failed,
  // Launch
  /** The image cannot be started here. → Read the engine's answer in the message. */
  LAUNCH_FAILED: engine,
  /** This launch target cannot do this. → Leave the flag out, or choose another target. */
  LAUNCH_UNSUPPORTED: usage,
  /** The GPUs are in use. → Wait, ask for others, or use `--allow-busy`. */
  GPU_BUSY: failed,
  /** The user stopped the command. → Repeat it: what was finished is kept. */
  INTERRUPTED: interrupted,
} as const satisfies Record<string, ExitCode>;

export type ProblemCode = keyof typeof problemCodes;
