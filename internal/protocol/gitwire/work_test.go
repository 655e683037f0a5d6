package gitwire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func parse(t testing.TB, v gitwire.Version, body string) *gitwire.Fetch {
	t.Helper()
	q, err := gitwire.ParseRequest(strings.NewReader(body), v)
	if err != nil || q.Fetch == nil {
		t.Fatalf("%q: %v", unframe(body), err)
	}
	return q.Fetch
}

func TestWork(t *testing.T) {
	one, two := hexOf("1"), hexOf("2")
	refs := &gitwire.Refs{Head: "refs/heads/main", List: []gitwire.Ref{{Name: "refs/heads/main", ID: id("1")}}}
	for _, c := range []struct {
		name    string
		version gitwire.Version
		body    string
		want    gitwire.Work
	}{
		{"a clone", 2, fetch2("want "+one, "want "+two, "thin-pack", "done"), gitwire.WorkPack},
		{"a clone by name", 2, fetch2("want-ref HEAD", "done"), gitwire.WorkPack},
		{"a clone that is not done", 2, fetch2("want "+one, "wait-for-done"), gitwire.WorkPack},
		{"a clone without blobs", 2, fetch2("want "+one, "filter blob:none", "done"), gitwire.WorkPack},
		{"a shallow clone", 2, fetch2("want "+one, "deepen 1", "done"), gitwire.WorkUpload},
		{"a clone since", 2, fetch2("want "+one, "deepen-since 1", "done"), gitwire.WorkUpload},
		{"a clone without a branch", 2, fetch2("want "+one, "deepen-not x", "done"), gitwire.WorkUpload},
		{"a fetch into a shallow clone", 2, fetch2("want "+one, "shallow "+two, "done"), gitwire.WorkUpload},
		{"a fetch", 2, fetch2("want "+one, "have "+two, "done"), gitwire.WorkUpload},
		{"a fetch of what is there", 2, fetch2("want "+one, "have "+two, "have "+one), gitwire.WorkNone},
		{"a fetch of what is there, done", 2, fetch2("want "+one, "have "+one, "done"), gitwire.WorkNone},
		{"a fetch by name of what is there", 2, fetch2("want-ref refs/heads/main", "have "+one, "done"), gitwire.WorkNone},
		{"a fetch by name of something else", 2, fetch2("want-ref refs/heads/main", "have "+two, "done"), gitwire.WorkUpload},
		{"a fetch of what is there, and shallow", 2, fetch2("want "+one, "have "+one, "shallow "+one, "done"), gitwire.WorkUpload},
		{"what is common, and more", 2, fetch2("want "+one, "have "+one, "wait-for-done"), gitwire.WorkUpload},
		{"what is common", 2, fetch2("have "+one, "wait-for-done"), gitwire.WorkUpload},
		{"nothing wanted", 2, fetch2("have "+one, "done"), gitwire.WorkNone},
		{"a clone, version 0", 0, frames("want "+one, "flush", "done"), gitwire.WorkPack},
		{"a clone, version 1", 1, frames("want "+one, "flush", "done"), gitwire.WorkPack},
		{"a round without offers", 0, frames("want "+one, "flush", "flush"), gitwire.WorkNone},
		{"no round at all", 0, frames("want "+one, "flush"), gitwire.WorkNone},
		{"a shallow clone's first part", 0, frames("want "+one, "deepen 1", "flush"), gitwire.WorkUpload},
		{"a shallow clone, version 0", 0, frames("want "+one, "deepen 1", "flush", "done"), gitwire.WorkUpload},
		{"a fetch, version 0", 0, frames("want "+one, "flush", "have "+two, "done"), gitwire.WorkUpload},
		{"a fetch of what is there, version 0", 0, frames("want "+one, "flush", "have "+one, "done"), gitwire.WorkUpload},
	} {
		f := parse(t, c.version, c.body)
		if err := f.Resolve(refs); err != nil {
			t.Fatal(err)
		}
		if got := f.Work(); got != c.want {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
		if head := f.AppendHead([]byte("x")); c.want == gitwire.WorkUpload && string(head) != "x" {
			t.Errorf("%s: %q, and the answer is upload-pack's", c.name, head)
		}
	}
	unresolved := parse(t, 2, fetch2("want-ref refs/heads/main", "have "+one, "done"))
	if got := unresolved.Work(); got != gitwire.WorkUpload {
		t.Errorf("before refs are looked up: %v", got)
	}
}

func TestResolve(t *testing.T) {
	f := parse(t, 2, fetch2("want-ref refs/tags/v1", "want-ref HEAD", "want-ref refs/heads/main", "want "+hexOf("f"), "want "+hexOf("0")[1:]+"1"))
	if err := f.Resolve(&some); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.Tips()); got != fmt.Sprint([]gitwire.ObjectID{mustID(t, hexOf("0")[1:]+"1"), id("1"), id("2"), id("f")}) {
		t.Errorf("%v", got)
	}
	want := frames("wanted-refs\n", hexOf("2")+" refs/tags/v1\n", hexOf("1")+" HEAD\n", hexOf("1")+" refs/heads/main\n", "delim", "packfile\n")
	if got := string(f.AppendHead(nil)); got != want {
		t.Errorf("%q", got)
	}
	f.SidebandAll = true
	want = frames("\x01wanted-refs\n", "\x01"+hexOf("2")+" refs/tags/v1\n", "\x01"+hexOf("1")+" HEAD\n", "\x01"+hexOf("1")+" refs/heads/main\n", "delim", "\x01packfile\n")
	if got := string(f.AppendHead(nil)); got != want {
		t.Errorf("%q", got)
	}
	f = parse(t, 2, fetch2("want-ref refs/heads/none"))
	if err := f.Resolve(&some); err == nil || err.Error() != `unknown ref refs/heads/none` {
		t.Errorf("%v", err)
	}
}

// answer splits an answer into the lines before its pack and the pack itself.
func answer(t testing.TB, f *gitwire.Fetch, stream string) (head []string, pack string) {
	t.Helper()
	lines := unframe(stream)
	inPack := false
	for i, line := range lines {
		switch {
		case i == len(lines)-1 && f.PackFrame() == 0:
			pack += line
		case i == len(lines)-1 && line != "":
			t.Fatalf("%q follows the frames", line)
		case inPack && line == "flush":
			return head, pack
		case inPack && line[0] == 1:
			pack += line[1:]
		case inPack:
			t.Fatalf("%q in a pack", line)
		default:
			head = append(head, line)
			inPack = f.Version == 2 && strings.HasSuffix(line, "packfile\n") || f.Version < 2 && line == "NAK\n" && f.PackFrame() > 0
		}
	}
	return head, pack
}

// TestAnswersAreGits compares the answers that take no upload-pack with those of upload-pack: what stands before the pack, to the
// byte, and the pack, which pack-objects alone makes.
func TestAnswersAreGits(t *testing.T) {
	for seed := range uint64(4) {
		r := seeded(seed)
		dir := randomRepository(t, r)
		refs := refsOf(t, dir)
		if len(refs.List) == 0 {
			continue
		}
		a, b := refs.List[0], refs.List[len(refs.List)-1]
		for _, c := range []struct {
			version gitwire.Version
			body    string
		}{
			{2, fetch2("want "+a.ID.String(), "want "+b.ID.String(), "thin-pack", "ofs-delta", "no-progress", "done")},
			{2, fetch2("want "+a.ID.String(), "no-progress", "include-tag")},
			{2, fetch2("want "+a.ID.String(), "no-progress", "filter blob:none", "sideband-all", "done")},
			{2, fetch2("want-ref "+b.Name, "no-progress", "sideband-all", "done")},
			{2, fetch2("want "+a.ID.String(), "no-progress", "filter tree:0", "want-ref "+b.Name, "wait-for-done", "done")},
			{2, fetch2("have "+a.ID.String(), "no-progress")},
			{2, fetch2("want "+a.ID.String(), "have "+a.ID.String(), "no-progress", "done")},
			{2, fetch2("want "+a.ID.String(), "have "+a.ID.String(), "no-progress", "done", "sideband-all")},
			{0, frames("want "+a.ID.String()+" side-band-64k no-progress ofs-delta", "want "+b.ID.String(), "flush", "done")},
			{0, frames("want "+a.ID.String()+" side-band no-progress multi_ack_detailed no-done", "flush", "done")},
			{1, frames("want "+a.ID.String()+" no-progress include-tag", "flush", "done")},
			{0, frames("want "+a.ID.String()+" no-progress filter", "filter blob:limit=1", "flush", "done")},
			{0, frames("want "+a.ID.String()+" no-progress multi_ack_detailed", "flush", "flush")},
			{0, frames("want "+a.ID.String()+" no-progress", "flush")},
			{0, "0000"},
			{2, "0000"},
		} {
			q, err := gitwire.ParseRequest(strings.NewReader(c.body), c.version)
			if err != nil {
				t.Fatal(err)
			}
			canonical := string(q.AppendTo(nil))
			want, errs, err := tryGit("", []string{fmt.Sprintf("GIT_PROTOCOL=version=%d", c.version)}, canonical, append(offer[:len(offer):len(offer)], "-c", "pack.threads=1", "upload-pack", "--stateless-rpc", dir)...)
			if err != nil {
				t.Fatalf("%q: %v %s", unframe(canonical), err, errs)
			}
			if q.Fetch == nil {
				if want != "" {
					t.Errorf("%q is answered %q", c.body, want)
				}
				continue
			}
			f := q.Fetch
			if err := f.Resolve(refs); err != nil {
				t.Fatal(err)
			}
			got := string(f.AppendHead(nil))
			switch f.Work() {
			case gitwire.WorkNone:
				gotHead, gotPack := answer(t, f, got)
				wantHead, wantPack := answer(t, f, want)
				if strings.Join(gotHead, "|") != strings.Join(wantHead, "|") || gotPack != wantPack {
					t.Errorf("seed %d, %q: %q, git %q", seed, unframe(c.body), unframe(got), unframe(want))
				}
			case gitwire.WorkPack:
				rest, ok := strings.CutPrefix(want, got)
				if !ok || got == "" {
					t.Errorf("seed %d, %q: %q, git %q", seed, unframe(c.body), unframe(got), unframe(want)[:2])
					continue
				}
				_, wantPack := answer(t, f, want)
				if gotPack := packOf(t, dir, f); gotPack != wantPack || len(gotPack) < 32 || f.PackFrame() == 0 && rest != gotPack {
					t.Errorf("seed %d, %q: a pack of %d bytes, git's has %d", seed, unframe(c.body), len(gotPack), len(wantPack))
				}
			default:
				t.Errorf("%q: %v", unframe(c.body), f.Work())
			}
		}
	}
}

// packOf makes a pack as WorkPack says.
func packOf(t testing.TB, dir string, f *gitwire.Fetch) string {
	t.Helper()
	args := []string{"-c", "pack.threads=1", "pack-objects", "--revs", "--stdout", "-q"}
	if f.OfsDelta {
		args = append(args, "--delta-base-offset")
	}
	if f.IncludeTag {
		args = append(args, "--include-tag")
	}
	if f.Filter.Kind != gitwire.FilterNone {
		args = append(args, "--filter="+f.Filter.String())
	}
	var tips strings.Builder
	for _, tip := range f.Tips() {
		tips.WriteString(tip.String() + "\n")
	}
	return git(t, dir, tips.String(), args...)
}

// TestNothingNew: a client that has what it wants gets an empty pack that git takes.
func TestNothingNew(t *testing.T) {
	f := parse(t, 2, fetch2("want "+hexOf("2"), "want "+hexOf("1"), "have "+hexOf("3"), "have "+hexOf("1"), "have "+hexOf("2")))
	lines := unframe(string(f.AppendHead(nil)))
	want := []string{"acknowledgments\n", "ACK " + hexOf("1") + "\n", "ACK " + hexOf("2") + "\n", "ready\n", "delim", "packfile\n"}
	if strings.Join(lines[:6], "") != strings.Join(want, "") || len(lines) != 9 || lines[7] != "flush" {
		t.Errorf("%q", lines)
	}
	git(t, emptyRepository(t, "refs/heads/main"), lines[6][1:], "index-pack", "--stdin")
	f.SidebandAll = true
	for _, line := range unframe(string(f.AppendHead(nil)))[:8] {
		if line != "delim" && line != "flush" && line[0] != 1 {
			t.Errorf("%q is in no band", line)
		}
	}
}

func TestObjectInfoIsGits(t *testing.T) {
	dir := randomRepository(t, seeded(1))
	refs := refsOf(t, dir)
	one := refs.List[0].ID
	body := frames("command=object-info", "delim", "size", "oid "+one.String(), "oid "+hexOf("1"), "flush")
	q, err := gitwire.ParseRequest(strings.NewReader(body), 2)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	if _, err := fmt.Sscan(git(t, dir, "", "cat-file", "-s", one.String()), &size); err != nil {
		t.Fatal(err)
	}
	want, errs, err := tryGit("", []string{"GIT_PROTOCOL=version=2"}, string(q.AppendTo(nil)), append(offer[:len(offer):len(offer)], "upload-pack", "--stateless-rpc", dir)...)
	if err != nil {
		t.Fatal(err, errs)
	}
	if got := string(q.ObjectInfo.AppendAnswer(nil, []int64{size, -1})); got != want {
		differ(t, "sizes", got, want)
	}
	for _, c := range []struct {
		info gitwire.ObjectInfo
		want string
	}{
		{gitwire.ObjectInfo{}, "0000"},
		{gitwire.ObjectInfo{Size: true}, "0000"},
		{gitwire.ObjectInfo{IDs: []gitwire.ObjectID{id("1")}}, frames(hexOf("1"), "flush")},
		{gitwire.ObjectInfo{Size: true, IDs: []gitwire.ObjectID{id("1"), id("2")}}, frames("size", hexOf("1")+" 0", hexOf("2")+" 7", "flush")},
	} {
		if got := string(c.info.AppendAnswer(nil, []int64{0, 7})); got != c.want {
			t.Errorf("%+v: %q", c.info, got)
		}
	}
}

// TestKey: fetches that get the same have the same key, and no others.
func TestKey(t *testing.T) {
	one, two := hexOf("1"), hexOf("2")
	key := func(v gitwire.Version, body string) gitwire.Key {
		t.Helper()
		f := parse(t, v, body)
		if err := f.Resolve(&some); err != nil {
			t.Fatal(err)
		}
		k, ok := f.Key()
		if !ok || k == (gitwire.Key{}) {
			t.Fatalf("%q has no key", unframe(body))
		}
		return k
	}
	same := [][]gitwire.Key{
		{ // packs, in whatever frames
			key(2, fetch2("want "+one, "want "+two, "ofs-delta", "done")), key(2, fetch2("want "+two, "want "+one, "ofs-delta", "thin-pack", "no-progress", "sideband-all", "wait-for-done")),
			key(0, frames("want "+one+" ofs-delta side-band-64k agent=x", "want "+two, "flush", "done")), key(1, frames("want "+two+" ofs-delta thin-pack", "want "+one, "want "+two, "flush", "done")),
			key(2, fetch2("want-ref refs/heads/main", "want "+two, "ofs-delta")), key(2, fetch2("want-ref HEAD", "want-ref refs/heads/main", "want-ref refs/tags/v1", "ofs-delta", "done")),
		},
		{key(2, fetch2("want "+one, "ofs-delta", "done"))},
		{key(2, fetch2("want "+one, "want "+two, "done"))},
		{key(2, fetch2("want "+one, "want "+two, "ofs-delta", "include-tag", "done"))},
		{key(2, fetch2("want "+one, "want "+two, "ofs-delta", "filter blob:none", "done")), key(0, frames("want "+one+" filter ofs-delta", "want "+two, "filter blob:none", "flush", "done"))},
		{key(2, fetch2("want "+one, "want "+two, "ofs-delta", "filter blob:limit=1k", "done")), key(2, fetch2("want "+one, "want "+two, "ofs-delta", "filter blob:limit=1024", "done"))},
		{key(2, fetch2("want "+one, "want "+two, "ofs-delta", "filter tree:0", "done"))},
		// answers, with their frames
		{key(2, fetch2("want "+one, "want "+two, "deepen 1", "done")), key(2, fetch2("want "+two, "want "+one, "deepen 1", "done"))},
		{key(2, fetch2("want "+one, "want "+two, "deepen 1", "no-progress", "done"))},
		{key(2, fetch2("want "+one, "want "+two, "deepen 1", "sideband-all", "done"))},
		{key(2, fetch2("want "+one, "want "+two, "deepen 2", "done"))},
		{key(2, fetch2("want "+one, "want "+two, "deepen-since 2", "done"))},
		{key(2, fetch2("want "+one, "want "+two, "deepen-not x", "done"))},
		{key(2, fetch2("want-ref refs/heads/main", "want-ref refs/tags/v1", "deepen 1", "done")), key(2, fetch2("want-ref refs/tags/v1", "want-ref refs/heads/main", "deepen 1", "done"))},
		{key(0, frames("want "+one+" side-band-64k", "want "+two, "deepen 1", "flush", "done")), key(0, frames("want "+two+" side-band-64k agent=x", "want "+one, "deepen 1", "flush", "done"))},
		{key(0, frames("want "+one+" side-band", "want "+two, "deepen 1", "flush", "done"))},
		{key(0, frames("want "+one, "want "+two, "deepen 1", "flush", "done"))},
		{key(0, frames("want "+one+" side-band-64k", "want "+two, "deepen 1", "flush"))},
		{key(0, frames("want "+one+" side-band-64k", "want "+two, "deepen 1", "flush", "flush"))},
	}
	seen := map[gitwire.Key]int{}
	for i, keys := range same {
		if other, ok := seen[keys[0]]; ok {
			t.Errorf("%d has the key of %d", i, other)
		}
		seen[keys[0]] = i
		for _, k := range keys {
			if k != keys[0] {
				t.Errorf("%d: not all have one key", i)
			}
		}
	}
}

func TestNoKey(t *testing.T) {
	one := hexOf("1")
	for _, body := range []string{
		fetch2("want "+one, "have "+one), fetch2("want "+one, "have "+hexOf("2"), "done"), fetch2("want "+one, "shallow "+one, "deepen 1", "done"), fetch2("done"), fetch2("want-ref HEAD", "done"),
	} {
		if k, ok := parse(t, 2, body).Key(); ok {
			t.Errorf("%q: %x", unframe(body), k)
		}
	}
	if _, ok := parse(t, 0, frames("want "+one, "flush", "flush")).Key(); ok {
		t.Error("a round without offers has a key")
	}
}

// The value that a key is made of stays as it is.
func TestKeyChangesNothing(t *testing.T) {
	body := fetch2("want "+hexOf("2"), "want "+hexOf("1"), "deepen 1", "done")
	f := parse(t, 2, body)
	f.Key()
	f.Tips()
	if f.Wants[0] != id("2") {
		t.Error("the wants are sorted in place")
	}
}
