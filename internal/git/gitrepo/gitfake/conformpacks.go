package gitfake

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func (s suite) wrongPacks() {
	pack := s.h.Pack(s.h.All(ids{s.h.Commit("a")}, nil))
	broken := errors.New("broken")
	receive := func(in io.Reader, r gitrepo.Receiving) error {
		s.Helper()
		q := s.begin(one)
		_, err := q.Receive(s.Context(), in, r)
		if err != nil {
			if _, err := q.Prove(s.Context(), gitrepo.Proving{Tips: s.h.All(ids{s.h.Commit("a")}, nil)}); err == nil {
				s.Error("something came in")
			}
		}
		return err
	}
	for _, test := range []struct {
		pack    []byte
		r       gitrepo.Receiving
		byLimit bool
	}{
		{pack: nil}, {pack: []byte("GET / HTTP/1.1\r\n\r\n")}, {pack: pack[:len(pack)-1]}, {pack: append(bytes.Clone(pack), 'x')},
		{pack: pack, r: gitrepo.Receiving{MaxBytes: int64(len(pack)) - 1}, byLimit: true},
		{pack: pack, r: gitrepo.Receiving{MaxObjects: 1}, byLimit: true},
	} {
		var refused *gitrepo.PackError
		if err := receive(bytes.NewReader(test.pack), test.r); !errors.As(err, &refused) || refused.ByLimit != test.byLimit || refused.Text == "" {
			s.Errorf("%q within %+v: %v", test.pack[:min(20, len(test.pack))], test.r, err)
		}
	}
	var came, whole int64
	counted := gitrepo.Receiving{MaxBytes: int64(len(pack)), MaxObjects: 100, Grown: func(n int64) error { came = n; return nil }, Whole: func() { whole += came }}
	if err := receive(bytes.NewReader(pack), counted); err != nil || whole != int64(len(pack)) {
		s.Errorf("whole at %d of %d bytes: %v", whole, len(pack), err)
	}
	for _, in := range []io.Reader{bytes.NewReader(pack), io.MultiReader(bytes.NewReader(pack[:5]), ender{broken})} {
		var refused *gitrepo.PackError
		r := gitrepo.Receiving{Grown: func(n int64) error {
			if n >= int64(len(pack)) {
				return broken
			}
			return nil
		}, Whole: func() { s.Error("a pack that was not read to its end is whole") }}
		if err := receive(in, r); !errors.Is(err, broken) || errors.As(err, &refused) {
			s.Error(err)
		}
	}
}

type ender struct{ err error }

func (e ender) Read([]byte) (int, error) { return 0, e.err }

func (s suite) refs() {
	tip := s.h.Commit("tip")
	refs := &gitwire.Refs{Head: "refs/heads/main", List: []gitwire.Ref{{Name: "refs/heads/main", ID: tip}}}
	if err := s.d.Project(one, 0, refs); !errors.Is(err, gitrepo.ErrNoRepository) {
		s.Errorf("refs of nothing: %v", err)
	}
	s.must(s.d.Project(one, 0, &gitwire.Refs{Head: "refs/heads/main"}))
	s.push(one, ids{tip}, nil)
	generation := func(want uint64) {
		s.Helper()
		if got, err := s.d.Generation(one); err != nil || got != want {
			s.Errorf("generation %d (%v), want %d", got, err, want)
		}
	}
	generation(0)
	s.must(s.d.Project(one, 7, refs))
	s.must(s.d.Project(one, 7, refs))
	generation(7)
	s.must(s.d.Project(one, 8, refs))
	generation(8)
	s.must(s.d.Project(one, 6, &gitwire.Refs{}))
	generation(6)
	for _, bad := range []*gitwire.Refs{
		{Head: "main"}, {List: []gitwire.Ref{{Name: "refs/heads/a..b", ID: tip}}}, {List: []gitwire.Ref{{Name: "refs/heads/a"}}},
		{List: []gitwire.Ref{{Name: "refs/heads/b", ID: tip}, {Name: "refs/heads/a", ID: tip}}},
	} {
		if s.d.Project(one, 0, bad) == nil {
			s.Errorf("%+v was written", bad)
		}
	}
	generation(6)
}

func (s suite) fetches() {
	first := s.h.Commit("first")
	second := s.h.Commit("second", first)
	s.push(one, ids{second}, nil)
	var out bytes.Buffer
	s.must(s.d.Pack(s.Context(), one, &gitwire.Fetch{Wants: ids{first}}, "somebody", &out))
	got, err := s.h.Objects(out.Bytes())
	slices.SortFunc(got, gitwire.ObjectID.Compare)
	want := s.h.All(ids{first}, nil)
	slices.SortFunc(want, gitwire.ObjectID.Compare)
	if err != nil || !slices.Equal(got, want) {
		s.Errorf("got %v (%v), want %v", got, err, want)
	}
	other := s.h.Commit("other")
	if s.d.Pack(s.Context(), one, &gitwire.Fetch{Wants: ids{other}}, "somebody", &out) == nil {
		s.Error("what is not here was packed")
	}
	var archive, again bytes.Buffer
	s.must(s.d.Archive(s.Context(), one, first, "a-1", "somebody", &archive))
	s.must(s.d.Archive(s.Context(), one, first, "a-1", "", &again))
	if archive.Len() == 0 || !bytes.Equal(archive.Bytes(), again.Bytes()) {
		s.Errorf("archives of %d and %d bytes", archive.Len(), again.Len())
	}
	if s.d.Archive(s.Context(), one, other, "a-1", "", &out) == nil {
		s.Error("an archive of what is not here")
	}
	sizes, err := s.d.Sizes(s.Context(), one, ids{first, other, first}, "somebody")
	if err != nil || len(sizes) != 3 || sizes[0] <= 0 || sizes[0] != sizes[2] || sizes[1] >= 0 {
		s.Error(sizes, err)
	}
	for _, err := range []error{
		s.d.Pack(s.Context(), two, &gitwire.Fetch{Wants: ids{first}}, "", &out),
		s.d.Upload(s.Context(), two, gitwire.Request{Version: 2, Fetch: &gitwire.Fetch{Version: 2, Wants: ids{first}}}, "", &out),
		s.d.Archive(s.Context(), two, first, "a-1", "", &out),
		func() error { _, err := s.d.Sizes(s.Context(), two, ids{first}, ""); return err }(),
	} {
		if !errors.Is(err, gitrepo.ErrNoRepository) {
			s.Errorf("of nothing: %v", err)
		}
	}
	if s.d.Upload(s.Context(), one, gitwire.Request{}, "", &out) == nil {
		s.Error("what is no fetch was answered")
	}
}
