// Markdown while it is written. What came before the last block is rendered once and stays as it is, so that nothing jumps, and a long answer
// costs no more than a short one.

interface Blocks { done: string; length: number; open: string }

export class Growing {
  /** chunks are the HTML of blocks that are complete, and tail is that of the last one. */
  readonly chunks: string[] = [];
  tail = "";
  private taken = "";

  /** first renders the blocks at the beginning of a text, see firstBlocks of markdown.ts. */
  constructor(private first: (text: string) => Blocks) {}

  /** take renders a text that continues the last one. Another text begins anew. */
  take(text: string): void {
    text = text.replace(/\r\n?/g, "\n");
    if (!text.startsWith(this.taken)) {
      this.chunks.length = 0;
      this.taken = "";
    }
    const { done, length, open } = this.first(text.slice(this.taken.length));
    if (done) {
      this.chunks.push(done);
      this.taken = text.slice(0, this.taken.length + length);
    }
    this.tail = open;
  }
}
