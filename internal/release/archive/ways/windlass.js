#!/usr/bin/env node
// Runs Windlass {{.Version}}. The first time it downloads the archive for this machine, and refuses one that does not have the SHA-256 below.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const version = "{{.Version}}";
const sums = {{.SumsJSON}};

const os = { linux: "linux", darwin: "darwin", win32: "windows" }[process.platform];
const arch = { x64: "amd64", arm64: "arm64" }[process.arch];
const name = `windlass_${version}_${os}_${arch}`;
const archive = name + (os === "windows" ? ".zip" : ".tar.gz");
const home = process.env.WINDLASS_HOME || join(homedir(), ".local", "share", "windlass");
const program = join(home, version, os === "windows" ? "windlass.exe" : "windlass");

const fail = (text) => { console.error(`windlass: ${text}`); process.exit(1); };

async function install() {
  if (!sums[archive]) fail(`there is no archive of ${version} for ${process.platform} on ${process.arch}: build it from source`);
  const url = `${process.env.WINDLASS_RELEASES || "{{.Releases}}"}/${version}/${archive}`;
  console.error(`windlass: downloading ${url}`);
  const answer = await fetch(url).catch((e) => fail(`cannot download ${url}: ${e.cause?.message ?? e.message}`));
  if (!answer.ok) fail(`cannot download ${url}: ${answer.status} ${answer.statusText}`);
  const data = Buffer.from(await answer.arrayBuffer());
  const sum = createHash("sha256").update(data).digest("hex");
  if (sum !== sums[archive]) fail(`${archive} has the SHA-256 ${sum}, and the release says ${sums[archive]}: nothing was installed`);
  mkdirSync(home, { recursive: true });
  const work = mkdtempSync(join(home, ".install-"));
  try {
    writeFileSync(join(work, archive), data);
    // tar of Windows reads zip as well.
    const unpacked = spawnSync("tar", ["-xf", archive], { cwd: work, stdio: "inherit" });
    if (unpacked.status !== 0) fail(`tar cannot unpack ${archive}`);
    if (!existsSync(program)) renameSync(join(work, name), join(home, version));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (!existsSync(program)) await install();
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (e) => fail(e.message));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
