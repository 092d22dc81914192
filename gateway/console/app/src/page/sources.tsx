// Sources: a page that is being written.
import { Page } from "../ui";

export default function SourcesPage() {
  return <Page title="Sources"><p class="dim">This page is being written.</p></Page>;
}
