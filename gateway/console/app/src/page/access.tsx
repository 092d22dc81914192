// Access: a page that is being written.
import { Page } from "../ui";

export default function AccessPage() {
  return <Page title="Access"><p class="dim">This page is being written.</p></Page>;
}
