package gitread_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitrepo/repotest"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func called(name string) func([]string) string {
	return func(names []string) string {
		for _, n := range names {
			if strings.EqualFold(n, name) {
				return n
			}
		}
		return ""
	}
}

// A page learns of one process what a file holds, and when tips were committed.
func TestLook(t *testing.T) {
	text := strings.Repeat("line of the file\n", 2000)
	w := newWorld(t, fmt.Sprintf(`commit refs/heads/main
committer a <a@example.com> 1600000000 -0500
data 5
first
M 644 inline ReadMe
data %d
%s
M 755 inline run
data 4
#!/x
M 644 inline empty
data 0

M 120000 inline link
data 6
ReadMe
M 644 inline directory/ReadMe.md
data 3
sub

commit refs/heads/wordy
committer a <a@example.com> 1600000001 +0000
data 40000
%s
from refs/heads/main

tag v1
from refs/heads/main
tagger T <t@example.com> 1 +0000
data 0

`, len(text), text, strings.Repeat("x", 40000)))
	main, wordy, tree, tag := w.ID("main"), w.ID("wordy"), w.ID("main^{tree}"), w.ID("v1")
	w.Git("", "update-ref", "refs/tags/tree", tree.String())
	blob := w.Repository.Parse(w.Git("tree x\ncommitter a <a@example.com> 5 +0000\n", "hash-object", "-w", "--stdin"))
	w.Git("", "update-ref", "refs/tags/blob", blob.String())
	w.Push()
	absent := w.Repository.Parse(strings.Repeat("e", 40))
	tips := []gitwire.ObjectID{main, wordy, tag, tree, blob, absent, main}
	for name, want := range map[string]string{"readme": text, "run": "#!/x", "empty": "", "link": text, "directory": "-", "nothing": "-"} {
		got, err := w.r.Look(t.Context(), w.At.String(), gitread.Looking{Commit: main, Choose: called(name), MaxBytes: 1 << 20, Tips: tips})
		if err != nil {
			t.Fatal(err)
		}
		if (want == "-") != (got.Name == "") || want != "-" && string(got.Text) != want || got.Large {
			t.Errorf("%s: %q, %d bytes", name, got.Name, len(got.Text))
		}
		if want := map[gitwire.ObjectID]int64{main: 1600000000}; !maps.Equal(got.Times, want) {
			t.Errorf("times %v", got.Times)
		}
	}
	for n, large := range map[int64]bool{int64(len(text)): false, int64(len(text) - 1): true, 0: true} {
		got, err := w.r.Look(t.Context(), w.At.String(), gitread.Looking{Commit: main, Choose: called("ReadMe"), MaxBytes: n})
		if err != nil || got.Large != large || got.Name != "ReadMe" || large != (len(got.Text) == 0) {
			t.Errorf("at most %d bytes: %v, %d, %v", n, got.Large, len(got.Text), err)
		}
	}
	for what, id := range map[string]gitwire.ObjectID{"a commit that is not here": absent, "none": {}, "a blob": w.ID("main:run")} {
		got, err := w.r.Look(t.Context(), w.At.String(), gitread.Looking{Commit: id, Choose: called("run"), MaxBytes: 9, Tips: []gitwire.ObjectID{main}})
		if err != nil || got.Name != "" || len(got.Times) != 1 {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	if got, err := w.r.Look(t.Context(), strings.Repeat("9", 32), gitread.Looking{}); err != nil || got.Name != "" {
		t.Errorf("asked for nothing: %v", err)
	}
	if _, err := w.r.Look(t.Context(), strings.Repeat("9", 32), gitread.Looking{Tips: []gitwire.ObjectID{main}}); !errors.Is(err, gitrepo.ErrNoRepository) {
		t.Errorf("of nothing: %v", err)
	}
}

// A file may be chosen in another directory than the uppermost, and a link may be followed within the repository.
func TestLookElsewhere(t *testing.T) {
	w := newWorld(t, `commit refs/heads/main
committer a <a@example.com> 1600000000 -0500
data 5
first
M 644 inline docs/readme.md
data 7
in docs
M 644 inline docs/above
data 5
lower
M 644 inline docs/a/deep.md
data 4
deep
M 120000 inline docs/up
data 8
../above
M 644 inline above
data 5
above
M 120000 inline down
data 22
./docs//a/../a/deep.md
M 120000 inline docs/out
data 16
../../etc/passwd
M 120000 inline docs/fixed
data 10
/readme.md
M 120000 inline absolute
data 6
/above
M 120000 inline around
data 13
../d/../above
M 120000 inline directory
data 4
docs
M 120000 inline nowhere
data 4
none
M 120000 inline self
data 1
.
M 120000 inline again
data 7
./twice
M 120000 inline twice
data 7
docs/up
M 120000 inline out.md
data 16
../../etc/passwd
M 120000 inline loop.md
data 7
loop.md
M 120000 inline pool.md
data 8
.//again
M 120000 inline linked
data 4
docs
M 120000 inline through
data 16
linked/readme.md

`)
	main := w.ID("main")
	for name, want := range map[string][2]string{
		"readme.md": {"docs/readme.md", "in docs"}, "up": {"docs/up", "above"}, "above": {"above", "above"}, "down": {"down", "deep"}, "deep.md": {}, "out": {}, "fixed": {}, "absolute": {}, "around": {}, "directory": {}, "nowhere": {}, "self": {},
		"twice": {"twice", "above"}, "pool.md": {"pool.md", "above"}, "loop.md": {}, "through": {},
	} {
		l := gitread.Looking{Commit: main, Choose: called(name), MaxBytes: 10, Elsewhere: []string{".github", "docs"}}
		got, err := w.r.Look(t.Context(), w.At.String(), l)
		if err != nil || got.Name != want[0] || string(got.Text) != want[1] {
			t.Errorf("%s: %q %q, %v", name, got.Name, got.Text, err)
		}
	}
	// In place of links that lead nowhere the next best is read.
	for _, tt := range []struct{ best, want string }{{"out.md above", "above"}, {"loop.md out.md readme.md", "docs/readme.md"}, {"self nowhere out.md loop.md", ""}} {
		best := func(names []string) string {
			for name := range strings.FieldsSeq(tt.best) {
				if slices.Contains(names, name) {
					return name
				}
			}
			return ""
		}
		l := gitread.Looking{Commit: main, Choose: best, MaxBytes: 10, Elsewhere: []string{".github", "docs"}}
		if got, err := w.r.Look(t.Context(), w.At.String(), l); err != nil || got.Name != tt.want || (tt.want == "") != (got.Text == nil) {
			t.Errorf("%s: %q %q, %v", tt.best, got.Name, got.Text, err)
		}
	}
	got, err := w.r.Look(t.Context(), w.At.String(), gitread.Looking{Commit: main, Choose: called("down"), MaxBytes: 3})
	if err != nil || !got.Large || got.Text != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// However many links lead nowhere, only so many are followed, and a file is found all the same.
func TestLinksThatLeadNowhere(t *testing.T) {
	files := []string{"100644 z", "the file"}
	for i := range 40 {
		files = append(files, fmt.Sprintf("120000 l%02d", i), "none")
	}
	w := newWorld(t, repotest.Commit("main", "Links", 1000, "", files...))
	asked := 0
	first := func(names []string) string { asked++; return names[0] }
	got, err := w.r.Look(t.Context(), w.At.String(), gitread.Looking{Commit: w.ID("main"), Choose: first, MaxBytes: 10})
	if err != nil || got.Name != "z" || string(got.Text) != "the file" || asked > 10 {
		t.Errorf("%s, asked %d times, %v", got.Name, asked, err)
	}
}

// Ten thousand tips are asked about by one process. Those beyond have no time.
func TestLookAtManyTips(t *testing.T) {
	w := newWorld(t, history)
	first, tip := w.ID("main~2"), w.ID("main")
	many := make([]gitwire.ObjectID, 0, 10_000)
	for i := range 9_999 {
		many = append(many, w.Repository.Parse(fmt.Sprintf("%040x", i+1)))
	}
	got, err := w.r.Look(t.Context(), w.At.String(), gitread.Looking{Commit: tip, Choose: called("readme.md"), MaxBytes: 1 << 20, Tips: append(many, tip, first)})
	if want := (map[gitwire.ObjectID]int64{tip: 4001}); err != nil || !maps.Equal(got.Times, want) {
		t.Errorf("times %v, %v", got.Times, err)
	}
	if string(got.Text) != "# x\n" {
		t.Errorf("%q", got.Text)
	}
}
