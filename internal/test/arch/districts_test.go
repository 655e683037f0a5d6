package arch_test

import (
	"cmp"
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// districts are the parts of internal, from the lowest to the highest. A district imports itself and those of rows before it. Two districts
// of one row do not know each other.
var districts = [][]string{{"base"}, {"protocol"}, {"status"}, {"events"}, {"sync", "serve"}, {"git"}, {"operate"}, {"node"}, {"demo"}}

// forTests is the district that tests alone import.
const forTests = "test"

// private are packages, or families of packages, that others do not import: by the beginning of their path, who may.
var private = map[string]string{
	"events/store/index":  "events/store",
	"events/store/kv":     "events/store",
	"events/store/layout": "events/store",
	"sync/peer/":          "sync",
}

// shells are the packages that may have goroutines, locks, clocks, files and sockets, by the beginning of their path. All others have values.
var shells = []string{
	"base/contain", "base/fair", "base/objects", "base/publicnet", "base/sleep",
	"events/ingest", "events/refdb", "events/store",
	"sync/relayconn", "sync/relayread", "sync/relaysync",
	"serve/forward", "serve/front", "serve/members", "serve/relay", "serve/web",
	"git/", "operate/", "node", "demo",
}

// values are packages below those that have values alone all the same.
var values = []string{
	"events/store/layout", "git/gitplan",
	"operate/conffile", "operate/moderation",
}

// testOnly packages stand beside what they test; tests and each other alone import them.
var testOnly = []string{"internal/base/objects/objecttest", "internal/base/objects/s3/s3test", "internal/events/store/logtest", "internal/events/store/storetest", "internal/git/gitrepo/gitfake", "internal/git/gitrepo/repotest", "internal/sync/peer/threads/surveytest", "internal/sync/want/wanttest"}

// within returns the path of a package below internal.
func within(pkg string) (below string, ok bool) { return strings.CutPrefix(pkg, "internal/") }

// rank is the row of a package's district; cmd stands above all of them. It is -1 where the package is in no district.
func rank(pkg string) int {
	below, ok := within(pkg)
	if !ok {
		return len(districts)
	}
	return slices.IndexFunc(districts, func(row []string) bool { return slices.Contains(row, district(below)) })
}

func district(below string) string {
	name, _, _ := strings.Cut(below, "/")
	return name
}

// onlyTested reports whether a package is imported by tests alone.
func onlyTested(pkg string) bool {
	below, _ := within(pkg)
	return district(below) == forTests || slices.Contains(testOnly, pkg)
}

// in reports whether a package is of one of those families. "git/" is all below git; "node" is that package and all below it.
func in(below string, families ...string) bool {
	return slices.ContainsFunc(families, func(f string) bool {
		return below == f || strings.HasPrefix(below, strings.TrimSuffix(f, "/")+"/")
	})
}

// pure reports whether a package has values alone. A package of values has only those below it, but for what tests alone import.
func pure(pkg string) bool {
	below, ok := within(pkg)
	if !ok || onlyTested(pkg) {
		return false
	}
	return !in(below, shells...) || slices.Contains(values, below) // moderation has values, and moderator below it does not
}

func TestEveryPackageIsInADistrict(t *testing.T) {
	for _, f := range sources(t) {
		if rank(f.pkg) < 0 && !onlyTested(f.pkg) {
			t.Errorf("%s: package %s is in no district", f.path, f.pkg)
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || onlyTested(f.pkg) {
			continue
		}
		for _, imp := range imports(f) {
			to, ours := strings.CutPrefix(imp, module)
			if !ours {
				continue
			}
			from, _ := within(f.pkg)
			below, _ := within(to)
			switch {
			case onlyTested(to):
				t.Errorf("%s imports %s, which is for tests", f.path, to)
			case rank(to) > rank(f.pkg), rank(to) == rank(f.pkg) && district(below) != district(from):
				t.Errorf("%s imports %s, of a district that is not below its own", f.path, to)
			}
			for family, who := range private {
				if in(below, family) && !in(from, who) {
					t.Errorf("%s imports %s, which is for %s", f.path, to, who)
				}
			}
		}
	}
}

func TestPurePackagesArePure(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || !pure(f.pkg) {
			continue
		}
		for _, imp := range imports(f) {
			if slices.Contains(impure, imp) {
				t.Errorf("%s imports %s", f.path, imp)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", f.fset.Position(g.Pos()))
			}
			if s, ok := n.(*ast.SelectorExpr); ok && selects(s, "time", "Now", "Since", "Sleep", "After", "NewTimer", "NewTicker", "AfterFunc") {
				t.Errorf("%s reads a clock", f.fset.Position(s.Pos()))
			}
			return true
		})
	}
}

// TestThePlacesOfPackagesAreThere keeps the lists above from naming packages that are gone.
func TestThePlacesOfPackagesAreThere(t *testing.T) {
	there := map[string]bool{}
	for _, f := range sources(t) {
		for below, _ := within(f.pkg); below != "." && below != ""; below = filepath.ToSlash(filepath.Dir(below)) {
			there[below] = true
		}
	}
	named := slices.Concat(shells, values)
	for family, who := range private {
		named = append(named, family, who)
	}
	for _, pkg := range testOnly {
		below, _ := within(pkg)
		named = append(named, below)
	}
	for _, name := range named {
		if !there[strings.TrimSuffix(name, "/")] {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestEachDistrictSaysWhatItIs: doc.go at its root says what to read first and what the district never does, and lists its packages in their
// order, each with what it is. docs/ARCHITECTURE.md has the district in its table.
func TestEachDistrictSaysWhatItIs(t *testing.T) {
	packages := map[string][]string{} // by district, below it
	said := map[string]string{}       // what doc.go says, by district
	for _, f := range sources(t) {
		below, ok := within(f.pkg)
		if !ok {
			continue
		}
		name := district(below)
		if rest, deeper := strings.CutPrefix(below, name+"/"); deeper && !f.test && !slices.Contains(packages[name], rest) {
			packages[name] = append(packages[name], rest)
		}
		if f.path == "internal/"+name+"/doc.go" {
			said[name], _, _ = strings.Cut(text(t, f.path), "\npackage ")
		}
	}
	page := text(t, filepath.Join("docs", "ARCHITECTURE.md"))
	for name, all := range packages {
		doc := said[name]
		for _, want := range []string{"Package " + name + " ", "Read ", "never"} {
			if !strings.Contains(doc, want) {
				t.Errorf("internal/%s/doc.go does not say %q", name, want)
			}
		}
		var listed []string
		for line := range strings.Lines(doc) {
			if item, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(line, "//")), "- "); ok {
				pkg, what, _ := strings.Cut(item, ": ")
				if listed = append(listed, pkg); what == "" {
					t.Errorf("internal/%s/doc.go does not say what %s is", name, pkg)
				}
			}
		}
		slices.SortFunc(all, func(a, b string) int { return cmp.Compare(a, b) })
		if !slices.Equal(all, listed) {
			t.Errorf("internal/%s/doc.go lists %q, and there are %q", name, listed, all)
		}
		if !strings.Contains(page, "| `internal/"+name+"` |") {
			t.Errorf("docs/ARCHITECTURE.md has no row of internal/%s", name)
		}
	}
}
