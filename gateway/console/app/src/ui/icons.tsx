// The icons of the navigation, drawn in lines of the text's colour.
const drawn: Record<string, string> = {
  chat: "M4 5h16v11H9l-5 4z", turns: "M4 6h10M8 12h12M6 18h8", inbox: "M4 13V5h16v8m-16 0v6h16v-6m-16 0h5l1 2h4l1-2h5",
  agents: "M7 8h10v9H7zM12 8V4M9.500 12v1M14.500 12v1M4 12v3M20 12v3", tools: "M14 6a4 4 0 0 0 5 5l-9 9-4-4 9-9M14 6l3-3",
  knowledge: "M5 4h6l1 1 1-1h6v15h-6l-1 1-1-1H5zM12 5v14", access: "M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3",
  usage: "M5 20v-7M12 20V4M19 20v-10", system: "M12 9a3 3 0 1 0 .01 0M12 3v3M12 18v3M3 12h3M18 12h3M5.600 5.600l2.100 2.100M16.300 16.300l2.100 2.100M5.600 18.400l2.100-2.100M16.300 7.700l2.100-2.100",
  menu: "M4 7h16M4 12h16M4 17h16", search: "M10.500 4a6.500 6.500 0 1 0 .01 0M15.500 15.500L20 20",
};

export function Icon({ of }: { of: string }) {
  return (
    <svg class="icon-drawn" viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.700" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={drawn[of] ?? ""} />
    </svg>
  );
}
