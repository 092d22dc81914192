// A conversation that somebody has shared.
import type { PageProps } from "../route";
import { Page } from "../ui";

export default function Shared({ id }: PageProps) {
  return <Page title="Shared conversation"><p class="dim">{id}</p></Page>;
}
