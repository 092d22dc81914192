// The components of all pages. Page /ui shows them.
export { useLoad, usePages } from "./load";
export { ApiMenu, Copy, Empty, Facts, Loading, Menu, Page, Problem, Skeleton, useTitle, WhomToAsk } from "./page";
export { Table, type Column } from "./table";
export { Id, Money, Status, Took, When } from "./show";
export { Json } from "./json";
export { Filters, Tabs, timeOf, useFiltered, useTime, type Filter } from "./filters";
export { Field, JsonField, SchemaForm } from "./form";
export { Confirm, confirmed, copy, Dialog, failed, toast } from "./dialog";
export { Tree, type Branch } from "./tree";
export { can } from "../store";
