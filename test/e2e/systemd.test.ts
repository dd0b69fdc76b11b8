/** The units of docs/node/, each in its own text, under a real systemd. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { needs } from "../support/needs.ts";
import { type MirrorFleet, startMirrorFleet, tag, whyNoMirrorFleet } from "./support/mirror-fleet.ts";
import { imgmatch, root } from "./support/program.ts";
import { type RunningSystemd, startSystemd, whyNoSystemd } from "./support/systemd.ts";

const stack = inject("stack");
const unit = (name: string) => readFileSync(join(root, "docs/node", name), "utf8");

describe(
  "Under a real systemd",
  needs(stack.available ? null : stack.reason, whyNoMirrorFleet, whyNoSystemd),
  () => {
    let fleet: MirrorFleet;
    beforeAll(async () => {
      if (stack.available) fleet = await startMirrorFleet(stack);
    });
    afterAll(() => fleet?.stop());

    async function systemdWith(files: Readonly<Record<string, string>>): Promise<RunningSystemd> {
      const systemd = await startSystemd(files);
      onTestFinished(systemd.stop);
      return systemd;
    }

    describe("imgmatch-mirror.service", () => {
      const name = "imgmatch-mirror.service";
      const head = () =>
        fetch(`http://127.0.0.1:5047/v2/mirror/app/manifests/${tag}`, { method: "HEAD" }).then(
          ({ status, headers }) => [status, headers.get("docker-content-digest")],
          () => null,
        );

      it("answers, comes back when it is killed, with what it had kept, and ends when it is told to", async () => {
        const text = unit(name).replace("registry.example.com/team/vision", fleet.repository);
        const systemd = await systemdWith({ [`units/${name}`]: text });
        const started = await systemd.systemctl("start", name);
        expect(started, started.stderr).toMatchObject({ status: 0 });
        await expect.poll(head, { timeout: 20_000 }).toEqual([200, expect.stringMatching(/^sha256:/)]);
        const [, digest] = (await head()) ?? [];
        expect([...fleet.digests.values()]).toContain(digest);

        fleet.proxy.fault = () => ({ kind: "reset" });
        onTestFinished(() => {
          fleet.proxy.fault = null;
        });
        const first = await systemd.show(name, "MainPID");
        await systemd.inside(["kill", "-KILL", first]);
        await expect.poll(() => systemd.show(name, "NRestarts"), { timeout: 20_000 }).toBe("1");
        await expect.poll(head, { timeout: 20_000 }).toEqual([200, digest]);
        expect(await systemd.show(name, "MainPID")).not.toBe(first);

        await systemd.systemctl("stop", name);
        expect(await systemd.show(name, "Result")).toBe("success");
        expect(await systemd.show(name, "ExecMainStatus")).toBe("0");
        expect(await systemd.show(name, "ActiveState")).toBe("inactive");
        expect(await head()).toBeNull();
        const left = await systemd.inside(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]);
        expect(left.stdout).not.toContain("imgmatch.cjs");
      });

      it("has of the machine no more than the unit says", async () => {
        const text = unit(name).replace("registry.example.com/team/vision", fleet.repository);
        const systemd = await systemdWith({ [`units/${name}`]: text });
        await systemd.systemctl("start", name);
        await expect.poll(head, { timeout: 20_000 }).toEqual([200, expect.anything()]);
        const status = async (script: string, ...of: [string?]) =>
          (await systemd.inside(["sh", "-c", script], ...of)).status;
        // The unit may not write or see all that systemd itself may.
        for (const script of ["touch /mnt/written", "test -e /tmp/made", "touch /var/lib/written"]) {
          await systemd.inside(["touch", "/tmp/made"]);
          expect([script, await status(script)]).toEqual([script, 0]);
          expect([script, await status(script, name)]).toEqual([script, 1]);
        }
        expect(await status("touch /var/cache/imgmatch/written", name)).toBe(0);
        expect((await systemd.inside(["sh", "-c", "ls -A /root"], name)).stdout).toBe("");
        const pid = await systemd.show(name, "MainPID");
        const { stdout } = await systemd.inside(["cat", `/proc/${pid}/status`]);
        expect(stdout).not.toMatch(/^Uid:.*\b0\b/m);
        expect(stdout).toMatch(/^CapBnd:\t0+$/m);
        expect(stdout).toMatch(/^NoNewPrivs:\t1$/m);
        expect(stdout).toMatch(/^Seccomp:\t2$/m);
        const group = await systemd.show(name, "ControlGroup");
        const limits = `cat /sys/fs/cgroup${group}/memory.max /sys/fs/cgroup/memory${group}/memory.limit_in_bytes 2>/dev/null`;
        expect((await systemd.inside(["sh", "-c", limits])).stdout.trim()).toBe(String(512 * 1024 * 1024));
      });
    });

    it("imgmatch-image.service writes the node's image, and what requires it does not start on a broken host", async () => {
      const lock = join(fleet.project.folder, "images/imgmatch.lock.json");
      const { stdout: script } = await imgmatch(["export", "sh", "--lock", lock], {
        cwd: fleet.folder,
        env: fleet.env,
      });
      const job =
        "[Unit]\nRequires=imgmatch-image.service\nAfter=imgmatch-image.service\n[Service]\nType=oneshot\n";
      const systemd = await systemdWith({
        "units/imgmatch-image.service": unit("imgmatch-image.service"),
        "units/job.service": `${job}RemainAfterExit=yes\nExecStart=/bin/sh -c 'test -s /run/imgmatch/image'\n`,
        "etc/imgmatch/fleet.sh": script,
      });
      expect(await systemd.systemctl("start", "job")).toMatchObject({ status: 0 });
      const { stdout } = await systemd.inside(["cat", "/run/imgmatch/image"]);
      const [, digest = ""] = /@(sha256:[0-9a-f]{64})\n$/.exec(stdout) ?? [];
      expect([...fleet.digests.values()]).toContain(digest);

      await systemd.systemctl("stop", "job", "imgmatch-image");
      await systemd.inside(["sh", "-c", "echo 'echo half; exit 4' >/etc/imgmatch/fleet.sh"]);
      expect((await systemd.systemctl("start", "job")).status).not.toBe(0);
      expect(await systemd.show("imgmatch-image", "ExecMainStatus")).toBe("4");
      expect(await systemd.show("job", "ActiveState")).toBe("inactive");
      expect((await systemd.inside(["ls", "/run/imgmatch"])).stdout).toBe("");
    });
  },
);
