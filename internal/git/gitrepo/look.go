package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Bounds of one look.
const (
	lookTime     = 10 * time.Second
	lookCPU      = 3 * time.Second
	lookTree     = 1 << 20  // bytes of a directory in which a file is looked for
	lookCommit   = 16 << 10 // of a commit whose time is read
	lookTips     = 10_000
	lastSecond   = 253402300799 // of the year 9999
	fileMode     = "100644"
	programMode  = "100755"
	oldGroupMode = "100664"
	linkMode     = "120000"
	lookLink     = 4 << 10 // bytes of the path to which a link leads
)

// Looking says what a page shows of a repository, and so what Disk.Look has to find.
type Looking struct {
	Commit gitwire.ObjectID // Look reads a file of its uppermost directory; zero: no file
	// Choose names one of the files of that directory, "" for none. Links and directories are not among them.
	Choose func(names []string) string
	// Elsewhere has the paths of directories, constants, of which Choose gets the files where it has chosen none before. With Follow links are among
	// the names, and what one within the repository leads to is read.
	Elsewhere []string
	Follow    bool
	MaxBytes  int64              // Look reads no larger file
	Tips      []gitwire.ObjectID // commits whose times Look tells, at most 10,000
	Party     string
}

// Look is what Disk.Look found.
type Look struct {
	Name  string // of the file, with that of its directory where that is one of Elsewhere; "" for none
	Text  []byte // what it holds
	Large bool   // the file has more than MaxBytes, so Look did not read it
	// Times are when the commits among the tips were committed, in seconds since 1970. What is no commit has none.
	Times map[gitwire.ObjectID]int64
}

// Look reads one file and the times of commits, by one process of git. Look never waits for a slot: it fails with [gitproc.ErrBusy] where
// none is free.
func (d *Disk) Look(ctx context.Context, repo ID, l Looking) (Look, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	x := &looking{Looking: l}
	x.questions = newQuestions(ctx)
	x.found.Times = map[gitwire.ObjectID]int64{}
	if x.start(); len(x.expected) == 0 {
		return x.found, nil
	}
	err := d.serve(ctx, shape{repo: repo, work: "look"}, gitproc.Inspect(), gitproc.Run{
		Party: l.Party, In: &x.questions, Out: x, CPU: lookCPU, AtOnce: true, Ended: x.questions.end,
	}, nil)
	if err == nil && len(x.expected) > 0 {
		err = fmt.Errorf("repository %s: git did not answer all it was asked", repo)
	}
	if err != nil {
		return Look{}, err
	}
	return x.found, nil
}

// looking is one look under way. Only the goroutine that hands on git's output touches its fields, but for the questions.
type looking struct {
	inspection
	Looking
	found Look
	trees []object           // the uppermost directory, and those of Elsewhere
	dates []gitwire.ObjectID // of commits that are small enough
	file  gitwire.ObjectID   // what is chosen
	dir   string             // its directory, "" for the uppermost
	link  bool               // it is a link
}

func (x *looking) start() {
	if !x.Commit.IsZero() && x.Choose != nil {
		for _, suffix := range x.places() {
			x.info(x.Commit, suffix, func(o object) error { x.trees = append(x.trees, o); return nil })
		}
	}
	seen := map[gitwire.ObjectID]bool{}
	for _, id := range x.Tips[:min(len(x.Tips), lookTips)] {
		if seen[id] {
			continue
		}
		seen[id] = true
		x.info(id, "", func(o object) error {
			if o.kind == "commit" && o.size <= lookCommit {
				x.dates = append(x.dates, id)
			}
			return nil
		})
	}
	x.round(x.readAll)
}

// places returns the directories, as git reads them behind a commit.
func (x *looking) places() []string {
	places := []string{"^{tree}"}
	for _, dir := range x.Elsewhere {
		places = append(places, ":"+dir)
	}
	return places
}

func (x *looking) readAll() error {
	for i, tree := range x.trees {
		if tree.kind == "tree" && tree.size <= lookTree {
			x.read(x.Commit, x.places()[i], func(o object) error { return x.choose(i, o) })
		}
	}
	for _, id := range x.dates {
		x.read(id, "", func(o object) error {
			if t, ok := committed(o.contents); ok {
				x.found.Times[id] = t
			}
			return nil
		})
	}
	x.round(x.measure)
	return nil
}

// choose has Choose choose among the files of a directory, by its place among the trees.
func (x *looking) choose(place int, o object) error {
	if x.found.Name != "" {
		return nil
	}
	var names []string
	var ids []gitwire.ObjectID
	links := map[string]bool{}
	for tree := o.contents; len(tree) > 0; {
		mode, rest, ok := bytes.Cut(tree, []byte(" "))
		name, rest, end := bytes.Cut(rest, []byte{0})
		if !ok || !end || len(rest) < len(sum{}) {
			return errors.New("a directory cannot be read")
		}
		links[string(name)] = string(mode) == linkMode
		switch m := string(mode); {
		case m == fileMode, m == programMode, m == oldGroupMode, m == linkMode && x.Follow:
			names, ids = append(names, string(name)), append(ids, sum(rest[:len(sum{})]).id())
		}
		tree = rest[len(sum{}):]
	}
	name := x.Choose(names)
	if i := slices.Index(names, name); name != "" && i >= 0 {
		x.found.Name, x.file, x.link = name, ids[i], links[name]
		if place > 0 {
			x.dir = x.Elsewhere[place-1]
			x.found.Name = x.dir + "/" + name
		}
	}
	return nil
}

func (x *looking) measure() error {
	switch {
	case x.found.Name == "":
		x.round(nil)
	case x.link:
		x.follow()
	default:
		x.measureAt(x.file, "")
	}
	return nil
}

// follow reads where a link leads, and measures what is there. One that leads out of the repository leads nowhere.
func (x *looking) follow() {
	var link object
	to, within := "", false
	x.info(x.file, "", func(o object) error { link = o; return nil })
	x.round(func() error {
		if link.kind == "blob" && link.size <= lookLink {
			x.read(x.file, "", func(o object) error { to, within = leads(x.dir, string(o.contents)); return nil })
		}
		x.round(func() error {
			if within {
				x.measureAt(x.Commit, ":"+to)
				return nil
			}
			x.found.Name = ""
			x.round(nil)
			return nil
		})
		return nil
	})
}

// leads returns the path within the repository to which a link in a directory leads; false for one that leads elsewhere.
func leads(dir, to string) (string, bool) {
	if to == "" || to[0] == '/' || strings.ContainsAny(to, "\n\x00") {
		return "", false
	}
	p := path.Join("/"+dir, to)
	return p[1:], p != "/" && path.Join(dir, to) == p[1:]
}

// measureAt reads a file that is not too large: an object, or with a suffix what is at a path of a commit.
func (x *looking) measureAt(id gitwire.ObjectID, suffix string) {
	var file object
	x.info(id, suffix, func(o object) error { file = o; return nil })
	x.round(func() error {
		switch {
		case file.kind != "blob" && x.link:
			x.found.Name = "" // it leads to a directory, or to nothing
		case file.kind != "blob":
			return fmt.Errorf("the file %s is not there", x.file)
		case file.size > x.MaxBytes:
			x.found.Large = true
		default:
			x.read(id, suffix, func(o object) error { x.found.Text = bytes.Clone(o.contents); return nil })
		}
		x.round(func() error { x.round(nil); return nil })
		return nil
	})
}

// committed is the time in the line of a commit that says who committed it.
func committed(commit []byte) (int64, bool) {
	head, _, _ := bytes.Cut(commit, []byte("\n\n"))
	for line := range bytes.Lines(head) {
		who, ok := bytes.CutPrefix(line, []byte("committer "))
		if !ok {
			continue
		}
		_, when, _ := bytes.Cut(who[bytes.LastIndexByte(who, '>')+1:], []byte(" "))
		seconds, _, _ := bytes.Cut(when, []byte(" "))
		t, err := strconv.ParseInt(string(bytes.TrimSpace(seconds)), 10, 64)
		return t, err == nil && t >= 0 && t <= lastSecond
	}
	return 0, false
}
