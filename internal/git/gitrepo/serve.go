package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Pack writes to out the pack for a fetch by a client that has no objects yet.
func (d *Disk) Pack(ctx context.Context, repo ID, f *gitwire.Fetch, party string, out io.Writer) error {
	d.clones.count(repo)
	in := func() io.Reader { return &idReader{groups: []idGroup{{ids: f.Tips()}}} }
	s := shape{repo: repo, work: "pack", filter: f.Filter.Kind}
	return d.serve(ctx, s, gitproc.PackReachable(f.OfsDelta, f.IncludeTag, f.Filter), gitproc.Run{Party: party, Out: out}, in)
}

// Upload has git upload-pack answer a fetch, and writes the answer to out.
func (d *Disk) Upload(ctx context.Context, repo ID, q gitwire.Request, party string, out io.Writer) error {
	if q.Fetch == nil {
		return errors.New("upload-pack: the request is no fetch")
	}
	in := func() io.Reader { return bytes.NewReader(q.ForUploadPack().AppendTo(nil)) }
	f := q.Fetch
	bitmaps := len(f.Haves) == 0
	s := shape{repo: repo, work: "upload", filter: f.Filter.Kind, haves: len(f.Haves) > 0, depth: partial(f)}
	return d.serve(ctx, s, gitproc.UploadPack(bitmaps), gitproc.Run{Party: party, Protocol: int(q.Version), Out: out}, in)
}

// partial reports whether a fetch is of a part of the history.
func partial(f *gitwire.Fetch) bool {
	return f.Depth != 0 || f.DeepenSince != 0 || len(f.DeepenNot)+len(f.Shallows) > 0
}

// attributes of an archive: no file has placeholders replaced, for which git would run gpg, or walk the whole history.
const attributes = "* -export-subst\n"

// Archive writes the files of a commit as a .tar.gz to out, within a directory of that name (see gitproc.Archive). It leaves out the files that
// .gitattributes says are not exported.
func (d *Disk) Archive(ctx context.Context, repo ID, commit gitwire.ObjectID, name, party string, out io.Writer) error {
	q, err := d.newQuarantine(repo) // a directory without objects of its own, as what info/attributes says there counts more than what files say
	if err != nil {
		return err
	}
	info := q.dir + "/info"
	if err = d.dir.root.Mkdir(info, 0o700); err == nil {
		err = d.dir.root.WriteFile(info+"/attributes", []byte(attributes), 0o600)
	}
	if err == nil {
		at := gitproc.Dirs{Repository: d.dir.abs(q.dir), Alternates: []string{d.dir.abs(repo.path() + "/objects")}}
		err = d.serve(ctx, shape{repo: repo, work: "archive"}, gitproc.Archive(commit, name), gitproc.Run{Party: party, Long: true, At: at, Out: out}, func() io.Reader { return nil })
	}
	return errors.Join(noted(err), q.Close())
}

// Sizes asks git for the sizes of objects in bytes, in the order of ids; below 0 for an object that is not here.
func (d *Disk) Sizes(ctx context.Context, repo ID, ids []gitwire.ObjectID, party string) ([]int64, error) {
	sizes := make([]int64, 0, len(ids))
	out := &lines{each: func(line []byte) error {
		n := int64(-1)
		if !strings.HasSuffix(string(line), " missing") {
			var err error
			if n, err = strconv.ParseInt(string(line), 10, 64); err != nil {
				return err
			}
		}
		sizes = append(sizes, n)
		return nil
	}}
	in := func() io.Reader { return &idReader{groups: []idGroup{{ids: ids}}} }
	err := d.serve(ctx, shape{repo: repo, work: "sizes"}, gitproc.Measure(), gitproc.Run{Party: party, Out: out}, in)
	if err == nil && len(sizes) != len(ids) {
		err = fmt.Errorf("git told %d sizes of %d objects", len(sizes), len(ids))
	}
	if err != nil {
		return nil, err
	}
	return sizes, nil
}

// Unreached returns those of ids that are commits or annotated tags and to which no ref of the repository leads.
func (d *Disk) Unreached(ctx context.Context, repo ID, ids []gitwire.ObjectID, party string) (unreached []gitwire.ObjectID, err error) {
	asked := make(map[gitwire.ObjectID]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	out := &lines{each: func(line []byte) error {
		id, err := gitwire.ParseObjectID(line)
		if asked[id] {
			unreached = append(unreached, id)
		}
		return err
	}}
	in := func() io.Reader { return &idReader{groups: []idGroup{{ids: ids}}} }
	err = d.serve(ctx, shape{repo: repo, work: "unreached"}, gitproc.Unreached(), gitproc.Run{Party: party, Out: out}, in)
	return unreached, err
}

// serve runs git in a repository for a client that fetches; in returns what git reads. Where git runs into what was only a guess of ours before it has
// written anything, it runs once more; with a nil in it does not.
func (d *Disk) serve(ctx context.Context, s shape, c gitproc.Command, r gitproc.Run, in func() io.Reader) error {
	there, err := d.packs.known(s.repo)
	if err == nil && !there {
		err = ErrNoRepository
	}
	if err == nil {
		r.Reads, _, err = d.Size(s.repo)
	}
	if err == nil {
		r.Kind = gitproc.Fetch
		if r.At.Repository == "" {
			r.At.Repository = d.dir.abs(s.repo.path())
		}
		r.Owner = s.repo.String() // many addresses that fetch from one repository are not many
		r.Reads = max(1, r.Reads)
		out := &firstWrite{Writer: r.Out}
		cpu := r.CPU
		r.Out = out
		d.costly.bound(d.now(), s, &r)
		err = d.attempt(ctx, s, c, r, cpu, in)
		if in != nil && !out.begun && d.costly.again(d.now(), s, &r, cpu, err) {
			err = d.attempt(ctx, s, c, r, cpu, in)
		}
	}
	if err != nil {
		return fmt.Errorf("repository %s: %w", s.repo, err)
	}
	return nil
}

// attempt runs git once. cpu is what requests of the kind may take of the processor.
func (d *Disk) attempt(ctx context.Context, s shape, c gitproc.Command, r gitproc.Run, cpu time.Duration, in func() io.Reader) error {
	if in != nil {
		r.In = in()
	}
	err := d.run(ctx, c, r, s.repo)
	d.costly.ended(d.now(), s, r, r.CPU != cpu, err)
	return err
}

// firstWrite notes whether anything was written.
type firstWrite struct {
	io.Writer
	begun bool
}

func (o *firstWrite) Write(p []byte) (int, error) {
	o.begun = true
	return o.Writer.Write(p)
}

// Size returns how many bytes the files of the repository's packs have, and how many packs there are: wherever they lie, with a depot.
func (d *Disk) Size(repo ID) (bytes, packs int64, err error) {
	if d.depot != nil {
		m, err := d.depot.Manifest(repo)
		return m.Bytes(), int64(len(m)), err
	}
	names, err := d.packs.names(repo)
	if err != nil {
		return 0, 0, err
	}
	entries, err := d.dir.list(repo.path() + "/objects/pack")
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // maintenance was faster
		}
		if err != nil {
			return 0, 0, err
		}
		bytes += info.Size()
	}
	return bytes, int64(len(names)), nil
}
