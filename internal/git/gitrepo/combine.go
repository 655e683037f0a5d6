package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// combine has git combine the packs in a directory of their own, and puts the result in the place of the old packs.
func (m *maintenance) combine(ctx context.Context, refs *gitwire.Refs, keep []gitwire.ObjectID) (bool, error) {
	if err := m.d.Local().Bring(ctx, m.repo, ""); err != nil { // they stay: who combines keeps others from taking them off the disk
		return false, err
	}
	promised, all := m.d.confirmed.of(m.repo)
	if !all {
		m.expire = 1
	}
	keep = append(slices.Clone(keep), promised...)
	keep, err := m.among(keep)
	if err != nil {
		return false, err
	}
	size, err := m.stage(refs, keep)
	if err != nil {
		return false, err
	}
	c, all := gitproc.RepackAll(m.expire), true
	if size >= m.d.large && !m.due {
		c, all = gitproc.RepackGeometric(), false
	}
	err = m.d.run(ctx, c, gitproc.Run{
		Kind: gitproc.Maintenance, At: gitproc.Dirs{Repository: m.d.dir.abs(m.dir)}, MaxFile: 2*size + 64<<20,
	}, m.repo)
	if err != nil {
		return false, err
	}
	did, err := m.swap(ctx)
	if did && all && m.expire > 1 {
		err = m.d.dropped(m.repo)
	}
	return did, err
}

// among returns those of ids that are in the old packs. What came in since is in none of those that are combined.
func (m *maintenance) among(ids []gitwire.ObjectID) (_ []gitwire.ObjectID, err error) {
	old, err := m.d.dir.openIndexes(m.repo.path()+"/objects/pack", m.old)
	if err != nil {
		return nil, err
	}
	set := &packSet{packs: old}
	defer func() { err = errors.Join(err, set.close()) }()
	missing, err := set.rest(sums(ids))
	return without(ids, amongSums(ids, missing)), err
}

// stage makes a repository of links to the packs. git combines them there while readers use the repository itself.
func (m *maintenance) stage(refs *gitwire.Refs, keep []gitwire.ObjectID) (size int64, err error) {
	if m.dir, err = m.d.dir.fresh(); err != nil {
		return 0, err
	}
	packed, head, err := files(0, keeping(refs, keep))
	if err != nil {
		return 0, err
	}
	if err := errors.Join(m.d.dir.replace(m.dir+"/packed-refs", packed), m.d.dir.replace(m.dir+"/HEAD", head)); err != nil {
		return 0, err
	}
	links, err := m.d.packs.files(m.repo, m.old)
	if err != nil {
		return 0, err
	}
	led, err := m.lastRefChange(refs)
	if err == nil {
		err = m.renew(links, led)
	}
	if err != nil {
		return 0, err
	}
	for _, file := range links {
		if strings.HasSuffix(file, ".bitmap") {
			continue // made anew
		}
		info, err := m.d.dir.root.Stat(file)
		if err == nil {
			err = m.d.dir.link(file, m.dir+"/objects/pack/"+baseName(file))
		}
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

// baseName is the last part of a path.
func baseName(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

// keeping returns refs and one ref more for each object of keep. The names of these are neither branches nor tags, so that no clone builds
// on them.
func keeping(refs *gitwire.Refs, keep []gitwire.ObjectID) *gitwire.Refs {
	all := &gitwire.Refs{Head: refs.Head, List: slices.Clone(refs.List)}
	for i, id := range keep {
		all.List = append(all.List, gitwire.Ref{Name: fmt.Sprintf("refs/zz-kept/%d", i), ID: id})
	}
	all.Sort()
	return all
}
