package gitwire_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// thousand are 1,000 refs, a fifth of them annotated tags.
func thousand() *gitwire.Refs {
	refs := &gitwire.Refs{Head: "refs/heads/branch-0001"}
	for i := range 1000 {
		ref := gitwire.Ref{Name: fmt.Sprintf("refs/heads/branch-%04d", i), ID: id("1")}
		if i%5 == 0 {
			ref.Name, ref.Peeled = fmt.Sprintf("refs/tags/v%d", i), id("2")
		}
		refs.List = append(refs.List, ref)
	}
	refs.Sort()
	return refs
}

func BenchmarkLsRefs(b *testing.B) {
	refs := thousand()
	for name, q := range map[string]*gitwire.LsRefs{"all": {Peel: true, Symrefs: true}, "prefix": {Peel: true, Symrefs: true, Prefixes: []string{"HEAD", "refs/heads/branch-000", "refs/tags/v1"}}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(len(q.AppendAnswer(nil, refs))))
			}
		})
	}
}

func BenchmarkAdvertisement(b *testing.B) {
	refs := thousand()
	for _, v := range []gitwire.Version{0, 2} {
		b.Run(fmt.Sprint("version ", v), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(len(gitwire.AppendAdvertisement(nil, gitwire.UploadPack, v, refs, "graspd/1"))))
			}
		})
	}
}

func BenchmarkParseRequest(b *testing.B) {
	for name, body := range map[string]string{
		"ls-refs":         frames("command=ls-refs\n", "agent=git/2.39.5", "object-format=sha1", "delim", "peel\n", "symrefs\n", "unborn\n", "ref-prefix refs/heads/\n", "ref-prefix refs/tags/\n", "ref-prefix HEAD\n", "flush"),
		"clone":           fetch2("thin-pack", "no-progress", "include-tag", "ofs-delta", "want "+hexOf("1"), "done"),
		"1,000 haves":     frames("command=fetch", "delim", "want "+hexOf("1")) + lots(1000, func(i int) string { return "have " + numbered(i) + "\n" }) + "0000",
		"clone of 10,000": frames("command=fetch", "delim") + lots(10000, func(i int) string { return "want " + numbered(i) + "\n" }) + frames("done\n", "flush"),
	} {
		b.Run(name, func(b *testing.B) {
			in := strings.NewReader(body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				in.Reset(body)
				if _, err := gitwire.ParseRequest(in, 2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParsePush(b *testing.B) {
	body := lots(1000, func(i int) string { return hexOf("0") + " " + numbered(i) + fmt.Sprintf(" refs/heads/branch-%d", i) }) + "0000"
	in := strings.NewReader(body)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		in.Reset(body)
		if _, err := gitwire.ParsePush(in); err != nil {
			b.Fatal(err)
		}
	}
}

// Answers made of refs are a buffer, whatever their number: this is what a request costs that takes no process.
func TestRefsAllocateOnce(t *testing.T) {
	refs := thousand()
	q := &gitwire.LsRefs{Peel: true, Symrefs: true}
	dst := make([]byte, 0, 1<<18)
	for name, c := range map[string]struct {
		most float64
		f    func()
	}{
		"ls-refs":                {2, func() { q.AppendAnswer(nil, refs) }},
		"ls-refs, a used buffer": {0, func() { dst = q.AppendAnswer(dst[:0], refs) }},
		"version 0":              {8, func() { gitwire.AppendAdvertisement(nil, gitwire.UploadPack, 0, refs, "graspd/1") }}, // the words of the first line
		"pushes":                 {8, func() { gitwire.AppendAdvertisement(nil, gitwire.ReceivePack, 0, refs, "graspd/1") }},
	} {
		if n := testing.AllocsPerRun(20, c.f); n > c.most {
			t.Errorf("%s: %v allocations for 1,000 refs", name, n)
		}
	}
}

// TestMemoryIsBounded: whatever a stranger sends costs no more than a few times the bound of what is read.
func TestMemoryIsBounded(t *testing.T) {
	const most = 10
	for _, c := range []struct {
		name string
		body string
		v    gitwire.Version
	}{
		{"wants, haves, shallows", frames("command=fetch", "delim") + lots(16000, func(i int) string { return "want " + numbered(i) }) + lots(32000, func(i int) string { return "have " + numbered(i) }) +
			lots(30000, func(i int) string { return "shallow " + numbered(i) }) + "0000", 2},
		{"prefixes", frames("command=ls-refs", "delim") + lots(60000, func(i int) string { return fmt.Sprintf("ref-prefix %04x", i) }) + "0000", 2},
		{"long prefixes", frames("command=ls-refs", "delim") + lots(60, func(i int) string { return "ref-prefix " + strings.Repeat("x", 60000) }) + "0000", 2},
		{"refs by name", frames("command=fetch", "delim") + lots(16000, func(i int) string { return fmt.Sprintf("want-ref refs/heads/%s%d", strings.Repeat("x", 200), i) }) + "0000", 2},
		{"options", frames("command=fetch") + lots(60, func(int) string { return "server-option=" + strings.Repeat("x", 60000) }) + "0000", 2},
		{"words", lots(60, func(int) string { return "want " + hexOf("1") + strings.Repeat(" x", 29000) }) + "0000", 0},
	} {
		if len(c.body) > gitwire.MaxRequest {
			t.Fatalf("%s: %d bytes are refused", c.name, len(c.body))
		}
		in := strings.NewReader(c.body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := gitwire.ParseRequest(in, c.v)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(c.name, err)
		}
		got := int64(after.TotalAlloc - before.TotalAlloc)
		if got > most*int64(len(c.body)) {
			t.Errorf("%s: %d bytes are allocated for %d", c.name, got, len(c.body))
		}
	}
}
