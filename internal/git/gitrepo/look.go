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
	lookLinks    = 8       // links that are followed, and of which one may be chosen
)

// Looking says what a page shows of a repository, and so what Disk.Look has to find.
type Looking struct {
	Commit gitwire.ObjectID // Look reads a file of its uppermost directory; zero: no file
	// Choose names one of the files of that directory, "" for none. Links and directories are not among them.
	Choose func(names []string) string
	// Elsewhere has the paths of directories, constants, of which Choose gets the files where it has chosen none before. With Follow links are among
	// the names, and what one within the repository leads to is read; for one that leads to no file there, Choose is asked again.
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
	files []chosen           // what is chosen; each after the first stands in for links that lead nowhere
	links int                // how many were followed
}

// chosen is a file, or a link that may lead to one.
type chosen struct {
	name string // as Look tells it
	dir  string // its directory, "" for the uppermost
	id   gitwire.ObjectID
	link bool
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
	if n := len(x.files); n > 0 && !x.files[n-1].link {
		return nil
	}
	var dir string
	if place > 0 {
		dir = x.Elsewhere[place-1]
	}
	var names []string
	at := map[string]chosen{}
	err := entries(o.contents, func(mode, name string, id gitwire.ObjectID) {
		if link := mode == linkMode; isFile(mode) || link && x.Follow {
			names, at[name] = append(names, name), chosen{path.Join(dir, name), dir, id, link}
		}
	})
	for err == nil && len(x.files) < lookLinks {
		name := x.Choose(names)
		file, ok := at[name]
		if name == "" || !ok {
			break
		}
		if x.files = append(x.files, file); !file.link {
			break
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
		delete(at, name)
	}
	return err
}

func isFile(mode string) bool { return mode == fileMode || mode == programMode || mode == oldGroupMode }

// entries calls do with each entry of a directory.
func entries(tree []byte, do func(mode, name string, id gitwire.ObjectID)) error {
	for len(tree) > 0 {
		mode, rest, ok := bytes.Cut(tree, []byte(" "))
		name, rest, end := bytes.Cut(rest, []byte{0})
		if !ok || !end || len(rest) < len(sum{}) {
			return errors.New("a directory cannot be read")
		}
		do(string(mode), string(name), sum(rest[:len(sum{})]).id())
		tree = rest[len(sum{}):]
	}
	return nil
}

// measure goes on with the next file that was chosen. Without one the look is over.
func (x *looking) measure() error {
	if len(x.files) == 0 {
		x.round(nil)
		return nil
	}
	file := x.files[0]
	x.files = x.files[1:]
	return x.open(file)
}

func (x *looking) open(file chosen) error {
	switch {
	case !file.link:
		x.measureAt(file)
	case x.links == lookLinks:
		return x.measure()
	default:
		x.links++
		x.follow(file)
	}
	return nil
}

// follow reads where a link leads. One that leads out of the repository leads nowhere.
func (x *looking) follow(link chosen) {
	var o object
	to, within := "", false
	x.info(link.id, "", func(got object) error { o = got; return nil })
	x.round(func() error {
		if o.kind != "blob" || o.size > lookLink {
			return x.measure()
		}
		x.read(link.id, "", func(o object) error { to, within = leads(link.dir, string(o.contents)); return nil })
		x.round(func() error {
			if !within {
				return x.measure()
			}
			x.find(link.name, to)
			return nil
		})
		return nil
	})
}

// find looks for what a link leads to, in its directory: a file, or another link.
func (x *looking) find(name, at string) {
	dir, base := path.Split(at)
	dir = strings.TrimSuffix(dir, "/")
	suffix := ":" + dir // the uppermost too
	var tree object
	var file chosen
	x.info(x.Commit, suffix, func(o object) error { tree = o; return nil })
	x.round(func() error {
		if tree.kind != "tree" || tree.size > lookTree {
			return x.measure()
		}
		x.read(x.Commit, suffix, func(o object) error {
			return entries(o.contents, func(mode, entry string, id gitwire.ObjectID) {
				if entry == base && (isFile(mode) || mode == linkMode) {
					file = chosen{name, dir, id, mode == linkMode}
				}
			})
		})
		x.round(func() error {
			if file.name == "" {
				return x.measure()
			}
			return x.open(file)
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

// measureAt reads a file that is not too large.
func (x *looking) measureAt(file chosen) {
	var o object
	x.info(file.id, "", func(got object) error { o = got; return nil })
	x.round(func() error {
		switch {
		case o.kind != "blob":
			return fmt.Errorf("the file %s is not there", file.id)
		case o.size > x.MaxBytes:
			x.found.Name, x.found.Large = file.name, true
		default:
			x.found.Name = file.name
			x.read(file.id, "", func(o object) error { x.found.Text = bytes.Clone(o.contents); return nil })
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
