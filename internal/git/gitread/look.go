package gitread

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Bounds of one look.
const (
	lookCommit = 16 << 10 // bytes of a commit whose time is told
	lookTips   = 10_000
	lookAtOnce = 500
	lookLinks  = 8 // links that are followed
)

// Looking says what the first page of a repository shows, and so what Look has to find.
type Looking struct {
	Commit gitwire.ObjectID // Look reads a file of its uppermost directory; zero: no file
	// Choose names one of the files and links of that directory, "" for none. What a link within the repository leads to is read; for one that leads
	// to no file there, Choose is asked again.
	Choose    func(names []string) string
	Elsewhere []string           // paths of directories of which Choose gets the files where it has chosen none before
	MaxBytes  int64              // Look reads no larger file
	Tips      []gitwire.ObjectID // commits whose times Look tells, at most 10,000
	Party     string
}

// Look is what Reader.Look found.
type Look struct {
	Name  string // of the file, with that of its directory where that is one of Elsewhere; "" for none
	Text  []byte // what it holds
	Large bool   // the file has more than MaxBytes, so Look did not read it
	// Times are when the commits among the tips were committed, in seconds since 1970. What is no commit has none.
	Times map[gitwire.ObjectID]int64
}

// Look reads one file and the times of commits of the repository in a directory, by one process of git. It never waits for a slot, and keeps no times.
func (r *Reader) Look(ctx context.Context, dir string, l Looking) (Look, error) {
	id, err := gitrepo.ParseID(dir)
	if err != nil {
		return Look{}, err
	}
	found := Look{Times: map[gitwire.ObjectID]int64{}}
	err = r.ask(ctx, Visit{Repo: id, For: gitrepo.For{Party: l.Party, Now: true}}, func(a *asking) error {
		if !l.Commit.IsZero() && l.Choose != nil {
			if err := a.choose(&found, l); err != nil {
				return err
			}
		}
		return a.times(found.Times, l.Tips[:min(len(l.Tips), lookTips)])
	})
	if err != nil {
		return Look{}, err
	}
	return found, nil
}

// choose reads the first file in the directories that Choose chooses.
func (a *asking) choose(found *Look, l Looking) error {
	c, err := a.commit(l.Commit)
	if err != nil {
		return unless(err)
	}
	links := 0
	for _, dir := range append([]string{""}, l.Elsewhere...) {
		all, err := a.entriesAt(c, dir)
		if err = unless(err); err != nil {
			return err
		}
		name, file, err := a.chosen(c, dir, all, l.Choose, &links)
		if err != nil {
			return err
		}
		if name != "" {
			found.Name = path.Join(dir, name)
			size, text, err := a.file(file.ID, l.MaxBytes)
			found.Text, found.Large = text, size > l.MaxBytes
			return err
		}
	}
	return nil
}

// chosen asks choose for one of the files and links in a directory, and returns its name with the file to which it leads. For a link that leads to
// no file within the repository it asks again, until more links than lookLinks were followed. It returns "" where nothing is chosen.
func (a *asking) chosen(c *Commit, dir string, all []Entry, choose func([]string) string, links *int) (name string, file Entry, err error) {
	all = slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return !e.IsFile() && e.Mode != ModeLink })
	for len(all) > 0 {
		if name = choose(namesOf(all)); name == "" {
			break
		}
		i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
		if i < 0 {
			break
		}
		file, err = a.follow(c, dir, all[i], links)
		if err = unless(err); err != nil {
			return "", file, err
		}
		if file.IsFile() {
			return name, file, nil
		}
		all = slices.DeleteFunc(all, func(e Entry) bool { return e.Name == name || e.Mode == ModeLink && *links > lookLinks })
	}
	return "", Entry{}, nil
}

// unless returns nil for what a look does without.
func unless(err error) error {
	if errors.Is(err, ErrNothing) || errors.Is(err, ErrCostly) {
		return nil
	}
	return err
}

func namesOf(entries []Entry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

func (a *asking) entriesAt(c *Commit, dir string) ([]Entry, error) {
	at, err := a.find(Entry{Mode: ModeDir, ID: c.Tree}, dir)
	if err != nil || !at.IsDir() {
		return nil, err
	}
	return a.entries(at.ID)
}

// follow returns the entry to which a link in a directory leads in the end. A link that leads out of the repository, and one too many, leads nowhere.
func (a *asking) follow(c *Commit, dir string, e Entry, links *int) (Entry, error) {
	for e.Mode == ModeLink {
		if *links++; *links > lookLinks {
			return Entry{}, nil
		}
		_, to, err := a.file(e.ID, mostPath)
		if err != nil {
			return Entry{}, err
		}
		at, ok := leads(dir, string(to))
		if !ok {
			return Entry{}, nil
		}
		if e, err = a.find(Entry{Mode: ModeDir, ID: c.Tree}, at); err != nil {
			return Entry{}, err
		}
		dir = strings.TrimPrefix(path.Dir(at), ".")
	}
	return e, nil
}

// leads returns the path within the repository to which a link in a directory leads; false for one that leads elsewhere.
func leads(dir, to string) (string, bool) {
	if to == "" || to[0] == '/' || strings.ContainsRune(to, 0) {
		return "", false
	}
	p := path.Join("/"+dir, to)
	return p[1:], p != "/" && path.Join(dir, to) == p[1:]
}

// times tells when commits were committed.
func (a *asking) times(known map[gitwire.ObjectID]int64, tips []gitwire.ObjectID) error {
	for some := range slices.Chunk(tips, lookAtOnce) {
		objects, err := a.git.Read(lookCommit, some...)
		if err != nil {
			return err
		}
		for i, o := range objects {
			if o.Kind != "commit" || o.Contents == nil {
				continue
			}
			if t := parseCommit(some[i], o.Contents).Committer.When; !t.IsZero() {
				known[some[i]] = t.Unix()
			}
		}
	}
	return nil
}
