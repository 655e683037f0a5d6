package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// thousand is one author's repositories, as many as may be and more.
var thousand = attack{
	name:   "one-author",
	hosts:  true,
	does:   "one author, 20 addresses: 1,000 repositories, each with an announcement, a state and a push",
	bound:  "64 announcements of an author wait for their data; an author has 200 repositories with data, and 8 GiB",
	builds: 15 * time.Second,
	strike: func(ctx context.Context, s *scene) error {
		return callers(ctx, s, addresses(20), 2, func(ctx context.Context, c *caller, n int64) {
			tip, objects := firstCommit(fmt.Sprint(n))
			if err := s.signed(ctx, c, newPlace("author", fmt.Sprint("repository", n)), tip, packOf(objects...).end()); err != nil && ctx.Err() == nil {
				s.got.heard(err.Error())
			}
		})
	},
	breaks: func(f map[string]float64) string { return over(f, "graspd_git_repositories", 200+1) }, // and the contributor's
}

// pending has commits wait for events that never come.
var pending = attack{
	name:  "pending-uploads",
	hosts: true,
	does:  "40 addresses, 2 pushes at a time each, to 80 repositories of others: commits for events that nobody knows, 16 in a push, or one with 16 MB",
	bound: "16 in a push, 64 in a repository, 256 from an address within an hour, 16,384 in all; 256 MiB in a repository and from an address, 4 GiB in all; " +
		"30 minutes",
	builds:  15 * time.Second,
	prepare: func(ctx context.Context, s *scene) error { largeFile(); return s.settle(ctx, victims(80)...) },
	strike: func(ctx context.Context, s *scene) error {
		places := victims(80)
		return callers(ctx, s, addresses(40), 2, func(ctx context.Context, c *caller, n int64) {
			if n%2 == 0 {
				tip, pack := largeUpload(n)
				_ = c.push(ctx, places[n%80], pushBody(gitwire.ObjectID{}, pack, ref{nostrRef(n), tip})) // it is counted
				return
			}
			var refs []ref
			var objects []object
			for i := range int64(16) {
				tip, some := firstCommit(fmt.Sprint(n, i))
				refs, objects = append(refs, ref{nostrRef(n<<8 + i), tip}), append(objects, some...)
			}
			_ = c.push(ctx, places[n%80], pushBody(gitwire.ObjectID{}, packOf(objects...).end(), refs...)) // it is counted
		})
	},
	breaks: func(f map[string]float64) string { return over(f, "graspd_git_upload_bytes", 4<<30+32*(16<<20)) }, // with those under way
}

// largeUpload is a commit of a file of 16 MB, unlike others.
func largeUpload(n int64) (gitwire.ObjectID, []byte) {
	p := largeFile()
	more := &pack{n: p.n}
	more.b.Write(p.b.Bytes())
	c := commit(p.tree, n)
	more.add(c.sort, nil, c.body)
	return c.id(), more.end()
}

// largeFile is a pack of a file and the tree that it is in.
var largeFile = sync.OnceValue(func() (p struct {
	*pack
	tree gitwire.ObjectID
}) {
	_, objects := withFile(noise(16<<20, 1))
	p.pack, p.tree = packOf(objects[:2]...), objects[1].id()
	return p
})

// over says that a figure is larger than it may be.
func over(figures map[string]float64, name string, most float64) string {
	if figures[name] > most {
		return fmt.Sprintf("%s is %g, and may be %g", name, figures[name], most)
	}
	return ""
}
