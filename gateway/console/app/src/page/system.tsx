// System: a page that is being written.
import { Page } from "../ui";

export default function SystemPage() {
  return <Page title="System"><p class="dim">This page is being written.</p></Page>;
}
