package gitfetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// story has a branch, another one, tags of both sorts, a pull request, and a ref that is nobody's.
func story(t testing.TB) string {
	t.Helper()
	dir := repository(t, commits("refs/heads/main", 1, 30, 0)+commits("refs/heads/dev", 101, 5, 20)+tag("v1", 10)+
		"reset refs/tags/light\nfrom :5\n\nreset refs/nostr/"+strings.Repeat("a", 64)+"\nfrom :7\n\nreset refs/pull/1/head\nfrom :101\n\n"+
		commits("refs/pull/2/head", 201, 3, 15))
	git(t, dir, "", "repack", "-adq")
	return dir
}

func wantRefs(t testing.TB, dir string) *gitwire.Refs {
	t.Helper()
	refs := &gitwire.Refs{Head: "refs/heads/main"}
	for line := range strings.Lines(git(t, dir, "", "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", "refs/heads", "refs/tags", "refs/nostr")) {
		f := strings.Fields(line)
		ref := gitwire.Ref{Name: f[0], ID: mustID(t, f[1])}
		if len(f) > 2 {
			ref.Peeled = mustID(t, f[2])
		}
		refs.List = append(refs.List, ref)
	}
	refs.Sort()
	return refs
}

// TestFetchesFromGit: in each version of the protocol refs are read, and packs are as they were asked for.
func TestFetchesFromGit(t *testing.T) {
	dir := story(t)
	main, dev, v1 := idOf(t, dir, "main"), idOf(t, dir, "dev"), idOf(t, dir, "v1")
	for version := range 3 {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			t.Parallel()
			h, url := serve(t, dir, version)
			mine := repository(t, "")
			var packs []string
			beats := 0
			r := gitfetch.Request{
				URL: url + "/", Groups: [][]gitwire.ObjectID{{main, v1}, {}, {main}, {v1, v1}}, Pack: into(t, mine, &packs), Alive: func() { beats++ },
			}
			res, err := local(gitfetch.Bounds{}).Fetch(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			has(t, mine, main, v1)
			want := []string{main.String(), v1.String()}
			slices.Sort(want)
			if !slices.Equal(packs, []string{strings.Join(want, " ")}) || len(res.Lacks) > 0 || res.Bytes < 3000 || beats == 0 {
				t.Errorf("packs %q, %+v, %d beats", packs, res, beats)
			}
			if !reflect.DeepEqual(res.Refs, wantRefs(t, dir)) {
				t.Errorf("refs %+v", res.Refs)
			}
			asked := []string{"GET /some/r.git/info/refs version=2", "POST /some/r.git/git-upload-pack", "POST /some/r.git/git-upload-pack"}
			if version == 2 {
				asked[1], asked[2] = asked[1]+" version=2", asked[2]+" version=2"
			} else {
				asked = asked[:2]
				asked[1] += map[int]string{0: " ", 1: " version=1"}[version]
			}
			if !slices.Equal(h.asked, asked) || res.Requests != len(asked) || len(h.from) != 1 {
				t.Errorf("asked %q over %d connections, %d requests told", h.asked, len(h.from), res.Requests)
			}

			// The rest, thin, for what is here.
			whole := res.Bytes
			r.Groups, r.Haves = [][]gitwire.ObjectID{{dev}}, []gitwire.ObjectID{main, v1, main}
			res, err = local(gitfetch.Bounds{}).Fetch(t.Context(), r)
			if err != nil || len(res.Lacks) > 0 || res.Bytes >= whole {
				t.Fatalf("%+v, %v; the first took %d", res, err, whole)
			}
			has(t, mine, dev)
			if strings.Count(h.last, "have ") != 2 || !strings.Contains(h.last, "thin-pack") || !strings.Contains(h.last, "ofs-delta") || !strings.Contains(h.last, "agent=graspd/test") ||
				strings.Contains(h.last, "multi_ack_detailed") != (version < 2) {
				t.Errorf("asked %q", h.last)
			}

			// The refs alone.
			res, err = local(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: url})
			if err != nil || !reflect.DeepEqual(res.Refs, wantRefs(t, dir)) || res.Requests != 1+version/2 {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

// TestFetchesByID: what is not shown is asked for where the server lets it, each group by itself and whole.
func TestFetchesByID(t *testing.T) {
	dir := story(t)
	main, dev, hidden, old := idOf(t, dir, "main"), idOf(t, dir, "dev"), idOf(t, dir, "refs/pull/2/head"), idOf(t, dir, "main~10")
	nowhere, nothing := mustID(t, strings.Repeat("1", 40)), mustID(t, strings.Repeat("2", 40))
	groups := [][]gitwire.ObjectID{{nowhere, main}, {old, dev}, {main}, {hidden}, {nowhere}, {old}, {nothing}}
	list := func(ids ...gitwire.ObjectID) string {
		var out []string
		for _, id := range ids {
			out = append(out, id.String())
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		name    string
		version int
		config  string
		byID    int
		packs   []string
		lacks   string
	}{
		{"version 2 gives whatever is there", 2, "", 4, []string{list(main), list(old, dev), list(hidden)}, list(nowhere, nothing)},
		{"no more often than allowed", 2, "", 2, []string{list(main), list(old, dev)}, list(nowhere, hidden, nothing)},
		// It does not say so, and gives what its tips lead to all the same.
		{"version 0", 0, "", 4, []string{list(main), list(old, dev)}, list(nowhere, hidden, nothing)},
		{"version 0 that does", 0, "uploadpack.allowReachableSHA1InWant=true", 4, []string{list(main), list(old, dev), list(hidden)}, list(nowhere, nothing)},
		// git over HTTP gives what its tips lead to as well.
		{"version 1 that gives tips", 1, "uploadpack.allowTipSHA1InWant=true", 9, []string{list(main), list(old, dev), list(hidden)}, list(nowhere, nothing)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config := []string{"transfer.hideRefs=refs/pull/2"}
			if tt.config != "" {
				config = append(config, tt.config)
			}
			_, url := serve(t, dir, tt.version, config...)
			mine := repository(t, "")
			var packs []string
			res, err := local(gitfetch.Bounds{ByID: tt.byID}).Fetch(t.Context(), gitfetch.Request{URL: url, Groups: groups, Pack: into(t, mine, &packs)})
			if got := list(res.Lacks...); err != nil || !slices.Equal(packs, tt.packs) || got != tt.lacks {
				t.Errorf("packs %q, lacks %s, %v", packs, got, err)
			}
			if slices.Contains(tt.packs, list(hidden)) {
				has(t, mine, hidden)
			}
		})
	}
}

// What a server refuses to give by id may come with what it shows, and is told from what it does not have.
func TestWhatAServerWithholds(t *testing.T) {
	dir := story(t)
	main, old := idOf(t, dir, "main"), idOf(t, dir, "main~10")
	nowhere := mustID(t, strings.Repeat("1", 40))
	for _, tt := range []struct {
		name     string
		version  int
		config   string
		refuses  string // by id, "" as git does
		withheld []gitwire.ObjectID
		lacks    int
		said     string
		fails    bool
	}{
		{"by git's words", 0, "", "ERR upload-pack: not our ref " + old.String(), []gitwire.ObjectID{old, nowhere}, 2, "not our ref", false},
		{"by its own", 0, "", "ERR no", []gitwire.ObjectID{old, nowhere}, 2, "no", false},
		{"by a status", 0, "", "500", []gitwire.ObjectID{old, nowhere}, 2, "HTTP 500", false},
		{"by nothing", 1, "", "", []gitwire.ObjectID{nowhere}, 1, "not our ref", false},
		{"although it offers tips", 0, "uploadpack.allowTipSHA1InWant=true", "ERR upload-pack: not our ref " + old.String(), []gitwire.ObjectID{old, nowhere}, 2, "not our ref", false},
		{"what it does not have", 0, "uploadpack.allowReachableSHA1InWant=true", "", nil, 1, "not our ref " + nowhere.String(), false},
		{"in version 2, what it does not have", 2, "", "", nil, 1, "not our ref " + nowhere.String(), false},
		{"in version 2, by its own words", 2, "", "ERR WANTED not valid", []gitwire.ObjectID{old, nowhere}, 2, "not valid", false},
		{"too many requests", 0, "", "429", nil, 0, "", true},
		{"too much to do", 0, "", "503", nil, 0, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := []string{"transfer.hideRefs=refs/pull/2"}
			if tt.config != "" {
				config = append(config, tt.config)
			}
			h, url := serve(t, dir, tt.version, config...)
			h.refuses = func(body string) string {
				if strings.Contains(body, "want "+main.String()) {
					return ""
				}
				_, wanted, _ := strings.Cut(body, "want ")
				return strings.Replace(tt.refuses, "WANTED", wanted[:40], 1)
			}
			var packs []string
			r := gitfetch.Request{URL: url, Groups: [][]gitwire.ObjectID{{main}, {old}, {nowhere}}, Pack: into(t, repository(t, ""), &packs)}
			res, err := local(gitfetch.Bounds{}).Fetch(t.Context(), r)
			if tt.fails {
				if status, is := errors.AsType[*gitfetch.StatusError](err); !is {
					t.Errorf("%+v, %v", status, err)
				}
				return
			}
			if err != nil || !slices.Equal(res.Withheld, tt.withheld) || len(res.Lacks) != tt.lacks || !strings.Contains(res.Said, tt.said) || len(packs) != 3-tt.lacks {
				t.Errorf("%d packs, %+v, %v", len(packs), res, err)
			}
		})
	}
}

func TestAnEmptyRepository(t *testing.T) {
	for version := range 3 {
		_, url := serve(t, repository(t, ""), version, "uploadpack.allowReachableSHA1InWant=true")
		id := mustID(t, strings.Repeat("1", 40))
		res, err := local(gitfetch.Bounds{}).Fetch(t.Context(), gitfetch.Request{URL: url, Groups: [][]gitwire.ObjectID{{id, id}, {id}}})
		if err != nil || res.Refs == nil || len(res.Refs.List) > 0 || !slices.Equal(res.Lacks, []gitwire.ObjectID{id}) || res.Requests != 1+version/2 {
			t.Errorf("version %d: %+v, %v", version, res, err)
		}
	}
}

// TestFiveThousandTags are read and fetched in three requests.
func TestFiveThousandTags(t *testing.T) {
	var b strings.Builder
	b.WriteString(commits("refs/heads/main", 1, 50, 0))
	for i := range 5000 {
		b.WriteString(tag(fmt.Sprintf("t%04d", i), 1+i%50))
	}
	dir := repository(t, b.String())
	git(t, dir, "", "pack-refs", "--all")
	_, url := serve(t, dir, 2)
	refs := wantRefs(t, dir)
	var want []gitwire.ObjectID
	for _, ref := range refs.List {
		want = append(want, ref.ID)
	}
	mine := repository(t, "")
	var packs []string
	res, err := local(gitfetch.Bounds{}).Fetch(t.Context(), gitfetch.Request{URL: url, Groups: [][]gitwire.ObjectID{want}, Pack: into(t, mine, &packs)})
	if err != nil || len(res.Lacks) > 0 || res.Requests != 3 || len(packs) != 1 || !reflect.DeepEqual(res.Refs, refs) {
		t.Fatalf("%d refs, lacks %d, %d requests, %d packs, %v", len(res.Refs.List), len(res.Lacks), res.Requests, len(packs), err)
	}
	has(t, mine, want[0], want[2500], want[5000])
	if _, err := local(gitfetch.Bounds{Refs: 5000}).Advertised(t.Context(), gitfetch.Request{URL: url}); !errors.Is(err, gitfetch.ErrTooMuch) {
		t.Errorf("more refs than are allowed: %v", err)
	}
	if _, err := local(gitfetch.Bounds{AdvertBytes: 100_000}).Advertised(t.Context(), gitfetch.Request{URL: url}); !errors.Is(err, gitfetch.ErrTooMuch) {
		t.Errorf("more bytes of them than are allowed: %v", err)
	}
}

// TestTheCallersErrors come as they are, and end the fetch; what the caller has no use for is not read.
// TestWhenTheServerHasSentAll: the caller hears it before Pack returns, with the last pack alone, and the connection ends by then.
func TestWhenTheServerHasSentAll(t *testing.T) {
	dir := story(t)
	main, old, older, absent := idOf(t, dir, "main"), idOf(t, dir, "main~10"), idOf(t, dir, "main~12"), mustID(t, strings.Repeat("12", 20))
	for name, tt := range map[string]struct {
		groups [][]gitwire.ObjectID
		heard  string
	}{
		"shown":              {[][]gitwire.ObjectID{{main}}, "read, heard, packed"},
		"by id":              {[][]gitwire.ObjectID{{old}}, "read, heard, packed"},
		"shown and by id":    {[][]gitwire.ObjectID{{main}, {old}}, "read, packed, read, heard, packed"},
		"two by id":          {[][]gitwire.ObjectID{{old}, {older}}, "read, packed, read, heard, packed"},
		"one that is absent": {[][]gitwire.ObjectID{{main}, {absent}}, "read, packed"},
		"one after another":  {[][]gitwire.ObjectID{{absent}, {old}}, "read, heard, packed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := serve(t, dir, 2)
			var told []string
			r := gitfetch.Request{URL: url, Groups: tt.groups, Heard: func() { told = append(told, "heard") }}
			r.Pack = func(_ context.Context, _ []gitwire.ObjectID, pack io.Reader) error {
				told = append(told, "read")
				if _, err := io.Copy(io.Discard, pack); err != nil {
					return err
				}
				told = append(told, "packed")
				return nil
			}
			if _, err := local(gitfetch.Bounds{}).Fetch(t.Context(), r); err != nil || strings.Join(told, ", ") != tt.heard {
				t.Errorf("%v, want %s: %v", told, tt.heard, err)
			}
		})
	}
}

// TestTheConnectionEndsWithTheLastAnswer, though the caller takes long for what came.
func TestTheConnectionEndsWithTheLastAnswer(t *testing.T) {
	dir := story(t)
	closed := make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(&host{t: t, dir: dir, version: 2})
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	r := gitfetch.Request{URL: server.URL + "/some/r.git", Groups: [][]gitwire.ObjectID{{idOf(t, dir, "main")}}}
	r.Pack = func(_ context.Context, _ []gitwire.ObjectID, pack io.Reader) error {
		_, err := io.Copy(io.Discard, pack)
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Error("it is open ten seconds later")
		}
		return err
	}
	if _, err := local(gitfetch.Bounds{}).Fetch(t.Context(), r); err != nil {
		t.Error(err)
	}
}

func TestTheCallersErrors(t *testing.T) {
	dir := story(t)
	h, url := serve(t, dir, 2)
	main, old := idOf(t, dir, "main"), idOf(t, dir, "main~10")
	own := errors.New("the disk is full")
	r := gitfetch.Request{URL: url, Groups: [][]gitwire.ObjectID{{main}, {old}}}
	r.Pack = func(_ context.Context, _ []gitwire.ObjectID, pack io.Reader) error {
		if _, err := io.ReadFull(pack, make([]byte, 100)); err != nil {
			t.Error(err)
		}
		return own
	}
	if res, err := local(gitfetch.Bounds{}).Fetch(t.Context(), r); err != own || res.Requests != 3 || len(res.Lacks) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	calls := 0
	r.Pack = func(context.Context, []gitwire.ObjectID, io.Reader) error { calls++; return nil }
	if res, err := local(gitfetch.Bounds{}).Fetch(t.Context(), r); err != nil || calls != 2 || res.Requests != 4 || len(h.from) != 3 {
		t.Errorf("%d calls, %+v, %d connections, %v", calls, res, len(h.from), err)
	}
	r.Pack, r.MaxBytes = into(t, repository(t, ""), new([]string)), 1000
	if _, err := local(gitfetch.Bounds{}).Fetch(t.Context(), r); !errors.Is(err, gitfetch.ErrTooMuch) {
		t.Errorf("a pack of more than a thousand bytes: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.Pack = func(context.Context, []gitwire.ObjectID, io.Reader) error { cancel(); return ctx.Err() }
	if _, err := local(gitfetch.Bounds{}).Fetch(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("a fetch that was ended: %v", err)
	}
	if res, err := local(gitfetch.Bounds{}).Fetch(ctx, r); !errors.Is(err, context.Canceled) || res.Refs != nil {
		t.Errorf("a fetch that had ended before: %+v, %v", res, err)
	}
}
