package pagediff

import "slices"

// Patch says how to turn one state of a page into another. Its JSON leaves out whatever has not changed.
type Patch struct {
	Cells  map[string]string         `json:"cells,omitempty"`  // by id, the HTML now in cells that changed
	Rows   map[string]map[int]string `json:"rows,omitempty"`   // by id of rows that stay, and by column, the HTML now in cells that changed
	Tables map[string]Order          `json:"tables,omitempty"` // by id, tables whose rows came, went or changed their places
}

// Order says which rows a table has now.
type Order struct {
	IDs []string          `json:"order"`         // ids of all rows, in their order; empty for no rows
	New map[string]string `json:"new,omitempty"` // by id, the elements of rows that were not there
}

// Empty reports whether p changes nothing.
func (p Patch) Empty() bool { return len(p.Cells) == 0 && len(p.Rows) == 0 && len(p.Tables) == 0 }

// Diff returns the Patch that turns old into now, two states of the same page. A row in both keeps its element.
func Diff(old, now *Page) Patch {
	var p Patch
	before := make(map[string]string, len(old.Cells))
	for _, c := range old.Cells {
		before[c.ID] = c.HTML
	}
	for _, c := range now.Cells {
		if html, ok := before[c.ID]; !ok || html != c.HTML {
			put(&p.Cells, c.ID, c.HTML)
		}
	}
	for i := range now.Tables {
		diffTable(&p, old.Table(now.Tables[i].ID), &now.Tables[i])
	}
	return p
}

func diffTable(p *Patch, old, now *Table) {
	if old == nil {
		old = &Table{}
	}
	before := make(map[string][]string, len(old.Rows))
	for _, r := range old.Rows {
		before[r.ID] = r.Cells
	}
	order := Order{IDs: make([]string, 0, len(now.Rows))}
	for _, r := range now.Rows {
		order.IDs = append(order.IDs, r.ID)
		cells, ok := before[r.ID]
		if !ok || len(cells) != len(r.Cells) {
			put(&order.New, r.ID, now.Row(r))
			continue
		}
		for i, html := range r.Cells {
			if html == cells[i] {
				continue
			}
			if p.Rows[r.ID] == nil {
				put(&p.Rows, r.ID, map[int]string{})
			}
			p.Rows[r.ID][i] = html
		}
	}
	same := slices.EqualFunc(old.Rows, now.Rows, func(a, b Row) bool { return a.ID == b.ID })
	if !same || len(order.New) > 0 {
		put(&p.Tables, now.ID, order)
	}
}

// put sets an entry of a map, and makes the map if it is nil.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}
