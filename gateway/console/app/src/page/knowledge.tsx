// Knowledge: a page that is being written.
import { Page } from "../ui";

export default function KnowledgePage() {
  return <Page title="Knowledge"><p class="dim">This page is being written.</p></Page>;
}
