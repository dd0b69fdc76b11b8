/** The toolkit in a base's name, and the cells that it makes a mistake. */

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ImgmatchError, type Problem } from "../../../src/errors.ts";
import { readBaseToolkit } from "../../../src/fleet/dockerfile/base-toolkit.ts";
import { checkedCells, openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { makeFolder } from "../../support/folders.ts";

test.each([
  ["nvidia/cuda:12.9.0-devel-ubuntu24.04", "nvidia", "12.9.0"],
  ["nvcr.io/nvidia/cuda:13.0.2-base-ubi9@sha256:0", "nvidia", "13.0.2"],
  ["mirror.example.com:5000/hub/nvidia/cuda:9.2-cudnn7-devel-ubuntu18.04", "nvidia", "9.2"],
  ["pytorch/pytorch:2.7.0-cuda12.8-cudnn9-runtime", "nvidia", "12.8"],
  ["runpod/base:1.0.2-cuda1281-ubuntu2404", "nvidia", "12.8.1"],
  ["runpod/pytorch:1.0.2-cu1300-torch291-ubuntu2404", "nvidia", "13.0.0"],
  ["team/base:cuda124", "nvidia", "12.4"],
  ["nvidia/cuda:latest", "nvidia", null],
  ["nvidia/cuda@sha256:0", "nvidia", null],
  ["nvcr.io/nvidia/pytorch:25.06-py3", "nvidia", null],
  ["rocm/dev-ubuntu-24.04:7.2-complete", "amd", "7.2"],
  ["rocm/dev-ubuntu-24.04:6.4.1", "amd", "6.4.1"],
  ["rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0", "amd", "6.4"],
  ["docker.io/rocm/rocm-terminal", "amd", null],
])("%s has a toolkit of %s: %s", (ref, vendor, version) => {
  expect(readBaseToolkit(ref)).toEqual({ vendor, version });
});

test.each([
  "debian:bookworm-slim",
  "ubuntu:24.04",
  "python:3.12",
  "nvidia/driver:570.124.06-ubuntu22.04",
  "example.com/team/barracuda:1.2",
  "example.com/team/app:2.0-nocuda12.8",
  "example.com/team/base:cu130",
  "example.com/team/base:nocuda1281",
  "example.com/team/base:cuda12815",
  "scratch",
])("%s has no toolkit", (ref) => {
  expect(readBaseToolkit(ref)).toBeNull();
});

function problemsOf(check: () => unknown): readonly Problem[] {
  try {
    check();
    return [];
  } catch (error) {
    return error instanceof ImgmatchError ? error.problems : [];
  }
}

describe("a cell without the toolkit of its base", () => {
  const opened = async (axes: string, dockerfile: string) => {
    const matrix = `name: app\nversion: 1.0.0\nregistry: r.example.com\ntemplate: Dockerfile\n${axes}`;
    const fleet = await openFleet(
      join(makeFolder({ "matrix.yaml": matrix, Dockerfile: dockerfile }), "matrix.yaml"),
    );
    return problemsOf(() => checkedCells(fleet, []));
  };
  const march = "axes:\n  march: [x86-64-v3]\n";

  test("is refused, with the row that it lacks", async () => {
    const dockerfile = "ARG V=12.9.0\nFROM nvidia/cuda:${V}-base-ubuntu24.04 AS a\nFROM a\n";
    expect(await opened(march, dockerfile)).toMatchObject([
      {
        code: "BASE_TOOLKIT_UNDECLARED",
        message:
          "cell x86-64-v3 declares no CUDA, and its base nvidia/cuda:12.9.0-base-ubuntu24.04 has CUDA 12.9.0",
        fix: 'give the cell the row { toolkit: "12.9.0" } in the axis cuda, or a base without CUDA',
        at: { file: "Dockerfile", line: 2 },
      },
    ]);
    expect(await opened(march, "FROM rocm/dev-ubuntu-24.04:7.2-complete\n")).toMatchObject([
      {
        message: expect.stringContaining("declares no ROCm"),
        fix: expect.stringContaining('{ rocm: "7.2" } in the axis accel'),
      },
    ]);
  });

  test("is refused beside a toolkit of the other vendor", async () => {
    const axes = 'axes:\n  accel: [{ rocm: "7.2" }]\n  compute: [gfx942]\n  march: [x86-64-v3]\n';
    const [problem] = await opened(axes, "FROM nvidia/cuda:12.9.0-base-ubuntu24.04\n");
    expect(problem).toMatchObject({ code: "BASE_TOOLKIT_UNDECLARED" });
  });

  test("may build with the toolkit, and start from another base", async () => {
    const dockerfile =
      "FROM nvidia/cuda:12.9.0-devel-ubuntu24.04 AS build\nRUN true\nFROM debian:trixie\nCOPY --from=build /etc/hostname /x\n";
    expect(await opened(march, dockerfile)).toEqual([]);
  });

  test("is no mistake where the cell declares the toolkit", async () => {
    const axes = 'axes:\n  cuda: ["12.9.0"]\n  compute: ["9.0"]\n  march: [x86-64-v3]\n';
    expect(await opened(axes, "FROM nvidia/cuda:12.9.0-base-ubuntu24.04\n")).toEqual([]);
  });
});
