// Usage: a page that is being written.
import { Page } from "../ui";

export default function UsagePage() {
  return <Page title="Usage"><p class="dim">This page is being written.</p></Page>;
}
