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

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Pack writes to out the pack for a fetch by a client that has no objects yet.
func (d *Disk) Pack(ctx context.Context, repo ID, f *gitwire.Fetch, party string, out io.Writer) error {
	d.demand.count(repo)
	in := &idReader{groups: []idGroup{{ids: f.Tips()}}}
	s := shape{repo: repo, work: "pack", filter: f.Filter.Kind}
	return d.serve(ctx, s, gitproc.PackReachable(f.OfsDelta, f.IncludeTag, f.Filter), gitproc.Run{Party: party, In: in, Out: out})
}

// Upload has git upload-pack answer a fetch, and writes the answer to out.
func (d *Disk) Upload(ctx context.Context, repo ID, q gitwire.Request, party string, out io.Writer) error {
	if q.Fetch == nil {
		return errors.New("upload-pack: the request is no fetch")
	}
	in := bytes.NewReader(q.ForUploadPack().AppendTo(nil))
	f := q.Fetch
	bitmaps := len(f.Haves) == 0
	s := shape{repo: repo, work: "upload", filter: f.Filter.Kind, haves: len(f.Haves) > 0, depth: partial(f)}
	return d.serve(ctx, s, gitproc.UploadPack(bitmaps), gitproc.Run{Party: party, Protocol: int(q.Version), In: in, Out: out})
}

// partial reports whether a fetch is of a part of the history.
func partial(f *gitwire.Fetch) bool {
	return f.Depth != 0 || f.DeepenSince != 0 || len(f.DeepenNot)+len(f.Shallows) > 0
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
	err := d.serve(ctx, shape{repo: repo, work: "sizes"}, gitproc.Measure(), gitproc.Run{Party: party, In: &idReader{groups: []idGroup{{ids: ids}}}, Out: out})
	if err == nil && len(sizes) != len(ids) {
		err = fmt.Errorf("git told %d sizes of %d objects", len(sizes), len(ids))
	}
	if err != nil {
		return nil, err
	}
	return sizes, nil
}

// serve runs git in a repository for a client that fetches.
func (d *Disk) serve(ctx context.Context, s shape, c gitproc.Command, r gitproc.Run) error {
	there, err := d.dir.exists(s.repo)
	if err == nil && !there {
		err = ErrNoRepository
	}
	if err == nil {
		r.Reads, _, err = d.Size(s.repo)
	}
	if err == nil {
		r.Kind, r.At = gitproc.Fetch, gitproc.Dirs{Repository: d.dir.abs(s.repo.path())}
		r.Reads = max(1, r.Reads)
		now := d.now()
		d.costly.bound(now, s, &r)
		err = d.run(ctx, c, r, s.repo)
		d.costly.ended(now, s, r, err)
	}
	if err != nil {
		return fmt.Errorf("repository %s: %w", s.repo, err)
	}
	return nil
}

// Size returns how many bytes the files of the repository's packs have, and how many packs there are.
func (d *Disk) Size(repo ID) (bytes, packs int64, err error) {
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
