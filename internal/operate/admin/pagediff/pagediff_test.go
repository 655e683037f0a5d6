package pagediff

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func page(cells string, rows ...Row) *Page {
	p := &Page{Tables: []Table{{ID: "t", Columns: []Column{{Title: "Name"}, {Title: "N", Class: "n", Hint: "how <many>"}}, Rows: rows, Empty: "None."}}}
	for i, html := range strings.Fields(cells) {
		p.Cells = append(p.Cells, Cell{"c" + strconv.Itoa(i), html})
	}
	return p
}

func row(id string, cells ...string) Row { return Row{id, cells} }

func TestDiff(t *testing.T) {
	for _, x := range []struct {
		name     string
		old, now *Page
		want     string
	}{
		{"nothing", page("a b", row("x", "X", "1")), page("a b", row("x", "X", "1")), `{}`},
		{"a cell", page("a b"), page("a c"), `{"cells":{"c1":"c"}}`},
		{"a cell that was not there", page("a"), page("a b"), `{"cells":{"c1":"b"}}`},
		{"a cell of a row", page("", row("x", "X", "1"), row("y", "Y", "1")), page("", row("x", "X", "1"), row("y", "Y", "2")), `{"rows":{"y":{"1":"2"}}}`},
		{"two of one", page("", row("x", "X", "1")), page("", row("x", "Z", "2")), `{"rows":{"x":{"0":"Z","1":"2"}}}`},
		{"rows change places", page("", row("x", "X", "1"), row("y", "Y", "1")), page("", row("y", "Y", "1"), row("x", "X", "1")), `{"tables":{"t":{"order":["y","x"]}}}`},
		{"a row goes", page("", row("x", "X", "1"), row("y", "Y", "1")), page("", row("x", "X", "1")), `{"tables":{"t":{"order":["x"]}}}`},
		{"the last row goes", page("", row("x", "X", "1")), page(""), `{"tables":{"t":{"order":[]}}}`},
		{"a row comes, another changes", page("", row("x", "X", "1")), page("", row("y", "Y", "1"), row("x", "X", "2")),
			`{"rows":{"x":{"1":"2"}},"tables":{"t":{"order":["y","x"],"new":{"y":"\u003ctr id=\"y\"\u003e\u003cth scope=\"row\"\u003eY\u003c/th\u003e\u003ctd class=\"n\" data-label=\"N\"\u003e1\u003c/td\u003e\u003c/tr\u003e\n"}}}}`},
		{"a row has more cells", page("", row("x", "X")), page("", row("x", "X", "1")),
			`{"tables":{"t":{"order":["x"],"new":{"x":"\u003ctr id=\"x\"\u003e\u003cth scope=\"row\"\u003eX\u003c/th\u003e\u003ctd class=\"n\" data-label=\"N\"\u003e1\u003c/td\u003e\u003c/tr\u003e\n"}}}}`},
		{"of a page that nobody has", &Page{}, page("a", row("x", "X")), `{"cells":{"c0":"a"},"tables":{"t":{"order":["x"],"new":{"x":"\u003ctr id=\"x\"\u003e\u003cth scope=\"row\"\u003eX\u003c/th\u003e\u003c/tr\u003e\n"}}}}`},
	} {
		p := Diff(x.old, x.now)
		b, err := json.Marshal(p)
		if err != nil || string(b) != x.want || p.Empty() != (x.want == "{}") {
			t.Errorf("%s: %v %v\n%s\nwant\n%s", x.name, p.Empty(), err, b, x.want)
		}
	}
}

// apply does to a page what whoever shows it does.
func apply(t *testing.T, old *Page, p Patch, columns []Column) *Page {
	t.Helper()
	out := &Page{Cells: slices.Clone(old.Cells)}
	for i := range out.Cells {
		if html, ok := p.Cells[out.Cells[i].ID]; ok {
			out.Cells[i].HTML = html
		}
	}
	for _, table := range old.Tables {
		rows := map[string]Row{}
		for _, r := range table.Rows {
			r.Cells = slices.Clone(r.Cells)
			for i, html := range p.Rows[r.ID] {
				r.Cells[i] = html
			}
			rows[r.ID] = r
		}
		now := Table{ID: table.ID, Columns: columns}
		ids := make([]string, 0)
		for _, r := range table.Rows {
			ids = append(ids, r.ID)
		}
		if o, ok := p.Tables[table.ID]; ok {
			ids = o.IDs
			for id, html := range o.New {
				rows[id] = readRow(id, html)
			}
		}
		for _, id := range ids {
			r, ok := rows[id]
			if !ok {
				t.Fatalf("row %s is nowhere", id)
			}
			now.Rows = append(now.Rows, r)
		}
		out.Tables = append(out.Tables, now)
	}
	return out
}

func readRow(id, html string) Row {
	r := Row{ID: id}
	for _, s := range strings.FieldsFunc(html, func(c rune) bool { return c == '<' || c == '>' }) {
		if strings.HasPrefix(s, "=") {
			r.Cells = append(r.Cells, s)
		}
	}
	return r
}

// TestWhatAPatchTellsIsAll: a page that has got every patch is what a page is that is loaded now.
func TestWhatAPatchTellsIsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() *Page {
		p := page("=" + strconv.Itoa(r.IntN(3)) + " =" + strconv.Itoa(r.IntN(3)))
		for _, i := range r.Perm(6)[:r.IntN(6)] {
			p.Tables[0].Rows = append(p.Tables[0].Rows, row("r"+strconv.Itoa(i), "="+strconv.Itoa(i), "="+strconv.Itoa(r.IntN(2))))
		}
		return p
	}
	shown := random()
	for range 2000 {
		now := random()
		same := shown.Version() == now.Version()
		p := Diff(shown, now)
		if same != p.Empty() {
			t.Fatalf("the versions are the same: %v; nothing to do: %v", same, p.Empty())
		}
		shown = apply(t, shown, p, now.Tables[0].Columns)
		if shown.Version() != now.Version() {
			t.Fatalf("shown is %v\nwant %v", shown, now)
		}
	}
}

func TestVersionsDiffer(t *testing.T) {
	seen := map[string]string{}
	for name, p := range map[string]*Page{
		"nothing": {}, "a": page("a"), "b": page("b"), "a and b": page("a b"), "ab": page("ab"), "a row": page("", row("x", "a", "b")), "other cells": page("", row("x", "ab", "")),
		"two rows": page("", row("x", "a"), row("b")), "another order": page("", row("b"), row("x", "a")),
	} {
		if other := seen[p.Version()]; other != "" {
			t.Errorf("%s is %s", name, other)
		}
		seen[p.Version()] = name
	}
}

func TestTheTableAsAnElement(t *testing.T) {
	p := page("", row(`x"<`, "<b>X</b>", "1"))
	p.Tables[0].Caption, p.Tables[0].Class = "What <is>", "cards"
	html := p.Table("t").HTML()
	for _, want := range []string{
		`<div class="wide" id="t-wide"><table id="t" class="cards"><caption class="unseen">What &lt;is&gt;</caption>`,
		`<th scope="col">Name</th><th scope="col" class="n" title="how &lt;many&gt;">N</th>`,
		`<tr id="x&#34;&lt;"><th scope="row"><b>X</b></th><td class="n" data-label="N">1</td></tr>`,
		`<p class="none" id="t-none" hidden>None.</p>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("%s\nlacks %s", html, want)
		}
	}
	if html := page("").Table("t").HTML(); !strings.Contains(html, `id="t-wide" hidden>`) || !strings.Contains(html, `id="t-none">None.</p>`) {
		t.Error(html)
	}
	if p.Table("other") != nil || p.Cell("other") != "" || page("a").Cell("c0") != "a" {
		t.Error("what is not there is found, or what is there is not")
	}
}
