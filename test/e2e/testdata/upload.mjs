// A client of the tus protocol that sends a file in parts, and goes on where the server has stopped. It prints a line for each part, then the
// address of the upload.
import { readFile } from "node:fs/promises";
import { Upload } from "tus-js-client";

const [endpoint, file, chunkSize] = process.argv.slice(2);
const upload = new Upload(await readFile(file), {
  endpoint,
  chunkSize: Number(chunkSize),
  retryDelays: Array(600).fill(100),
  metadata: { filename: "noise.bin", filetype: "application/octet-stream" },
  onChunkComplete: (_size, sent, total) => console.log(`part ${sent} of ${total}`),
  onError: (err) => { console.error(err.message); process.exit(1); },
  onSuccess: () => console.log(`done ${upload.url}`),
});
upload.start();
