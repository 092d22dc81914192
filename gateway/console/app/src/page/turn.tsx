// A turn: its timeline, and what was said in it.
import type { PageProps } from "../route";
import { useTitle } from "../ui";
import { TurnPage } from "../view/turn";

export default function Turn({ id }: PageProps) {
  useTitle(id);
  return <TurnPage id={id} />;
}
