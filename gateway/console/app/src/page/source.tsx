// Source: a page that is being written.
import { Page } from "../ui";

export default function SourcePage() {
  return <Page title="Source"><p class="dim">This page is being written.</p></Page>;
}
