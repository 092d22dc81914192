// Runs the scripts that its arguments name, one after the other in one browser. One that fails does not keep the others from running.
import { close } from "./page.mjs";

for (const script of process.argv.slice(2)) {
  try {
    await import(new URL(script, import.meta.url));
  } catch (e) {
    console.error(`${script}: ${e.stack}`);
    process.exitCode = 1;
  }
}
await close();
