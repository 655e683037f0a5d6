// Package pagediff describes a page that changes as values: cells and rows of tables, each with the id of its HTML element. Diff finds
// how to turn one state of a page into the next, so that a browser touches only what has changed. The functions are pure. Read Page,
// then Diff.
package pagediff

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Page is everything on a page that may change. No two cells, tables or rows have the same id.
type Page struct {
	Cells  []Cell
	Tables []Table
}

// Cell is the id of an element and the HTML in it.
type Cell struct{ ID, HTML string }

// Column describes a column of a table: its heading, which stands before each cell where there is no room for a table, and the class
// of its cells. The cell in the first column is the heading of its row.
type Column struct {
	Title string // "" = nobody sees the heading
	Hint  string // what the column means
	Class string
}

// Table has rows in their order. The page shows Empty instead of a table without rows.
type Table struct {
	ID      string
	Caption string // for those who do not see to what the table belongs
	Class   string
	Columns []Column
	Rows    []Row
	Empty   string // HTML
}

// Row is one row of a table: the id of its element, and the HTML in each cell.
type Row struct {
	ID    string
	Cells []string
}

// Cell returns the HTML in the cell of that id, "" where there is no such cell.
func (p *Page) Cell(id string) string {
	for _, c := range p.Cells {
		if c.ID == id {
			return c.HTML
		}
	}
	return ""
}

// Table returns the table of that id, nil where there is no such table.
func (p *Page) Table(id string) *Table {
	for i := range p.Tables {
		if p.Tables[i].ID == id {
			return &p.Tables[i]
		}
	}
	return nil
}

// Version returns a name for this state of the page: two states have the same name only where nothing differs.
func (p *Page) Version() string {
	h := sha256.New()
	put := func(texts ...string) {
		for _, s := range texts {
			h.Write([]byte(s))
			h.Write([]byte{0xff}) // in no UTF-8
		}
	}
	for _, c := range p.Cells {
		put(c.ID, c.HTML)
	}
	for _, t := range p.Tables {
		put("", t.ID)
		for _, r := range t.Rows {
			put("", r.ID)
			put(r.Cells...)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// escape writes text into an attribute or an element.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// HTML returns the elements of the table and of Empty. One of the two is hidden.
func (t *Table) HTML() string {
	var b strings.Builder
	hidden := func(yes bool) string {
		if yes {
			return " hidden"
		}
		return ""
	}
	b.WriteString(`<div class="wide" id="` + t.ID + `-wide"` + hidden(len(t.Rows) == 0) + `><table id="` + t.ID + `"`)
	if t.Class != "" {
		b.WriteString(` class="` + t.Class + `"`)
	}
	b.WriteString(`><caption class="unseen">` + escape.Replace(t.Caption) + `</caption><thead><tr>`)
	for _, c := range t.Columns {
		b.WriteString(`<th scope="col"` + attribute("class", c.Class) + attribute("title", c.Hint) + `>`)
		b.WriteString(escape.Replace(c.Title) + `</th>`)
	}
	b.WriteString("</tr></thead>\n<tbody>")
	for _, r := range t.Rows {
		b.WriteString(t.Row(r))
	}
	b.WriteString(`</tbody></table></div><p class="none" id="` + t.ID + `-none"` + hidden(len(t.Rows) > 0) + `>` + t.Empty + `</p>`)
	return b.String()
}

// Row returns the element of a row.
func (t *Table) Row(r Row) string {
	var b strings.Builder
	b.WriteString(`<tr id="` + escape.Replace(r.ID) + `">`)
	for i, cell := range r.Cells {
		var c Column
		if i < len(t.Columns) {
			c = t.Columns[i]
		}
		if i == 0 {
			b.WriteString(`<th scope="row"` + attribute("class", c.Class) + `>` + cell + `</th>`)
			continue
		}
		b.WriteString(`<td` + attribute("class", c.Class) + attribute("data-label", c.Title) + `>` + cell + `</td>`)
	}
	b.WriteString("</tr>\n")
	return b.String()
}

func attribute(name, value string) string {
	if value == "" {
		return ""
	}
	return ` ` + name + `="` + escape.Replace(value) + `"`
}
