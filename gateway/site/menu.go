package site

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// kind is one of the kinds of pages: tutorial, how-to, reference, explanation, decisions.
type kind struct {
	entry
	Groups []group
	// Open means that it has the current page.
	Open bool
}

// group is a list of pages of a kind that belong together. Title is "" if the kind has one list.
type group struct {
	entry
	Pages []item
}

// item is a page in the menu.
type item struct {
	entry
	// Current means that it is the one that is shown.
	Current bool
}

// menuOf reads the list of all pages: headings of the second level are kinds, those of the third are groups, links in lists are pages.
func menuOf(c *content) []kind {
	var menu []kind
	for n := c.tree.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			to := entry{Title: plain(n, c.source), Address: Path + "#" + anchor(n)}
			switch {
			case n.Level == 2:
				menu = append(menu, kind{entry: to})
			case n.Level == 3 && len(menu) > 0:
				k := &menu[len(menu)-1]
				k.Groups = append(k.Groups, group{entry: to})
			}
		case *ast.List:
			if len(menu) == 0 {
				continue
			}
			k := &menu[len(menu)-1]
			if len(k.Groups) == 0 {
				k.Groups = append(k.Groups, group{})
			}
			g := &k.Groups[len(k.Groups)-1]
			g.Pages = append(g.Pages, links(n, c.source)...)
		}
	}
	return menu
}

// links returns the links of a list. A second link in an item that continues the first one's text begins with a capital letter, too.
func links(list ast.Node, source []byte) []item {
	var found []item
	_ = ast.Walk(list, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			title := plain(link, source)
			title = strings.ToUpper(title[:1]) + title[1:]
			found = append(found, item{entry: entry{Title: title, Address: string(link.Destination)}})
		}
		return ast.WalkContinue, nil
	})
	return found
}

// place returns the menu with the current page marked, and the kind and the group that it is in.
func place(menu []kind, current string) (marked []kind, trail []entry) {
	for _, k := range menu {
		groups := k.Groups
		k.Groups = nil
		for _, g := range groups {
			pages := g.Pages
			g.Pages = nil
			for _, p := range pages {
				if p.Current = p.Address == current; p.Current && !k.Open {
					k.Open, trail = true, append(trail, k.entry)
					if g.Title != "" {
						trail = append(trail, g.entry)
					}
				}
				g.Pages = append(g.Pages, p)
			}
			k.Groups = append(k.Groups, g)
		}
		marked = append(marked, k)
	}
	if trail == nil && strings.HasPrefix(current, Below+decisions) && len(marked) > 0 {
		last := &marked[len(marked)-1]
		last.Open = true
		trail = []entry{last.entry}
	}
	return marked, trail
}
