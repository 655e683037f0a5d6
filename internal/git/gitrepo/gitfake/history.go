// Package gitfake keeps repositories in memory, for tests of what stands above them: it knows objects by names, what each
// leads to, and no git. It does what [gitrepo.Disk] does, as [Conform] proves of both.
package gitfake

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// object is one of a made-up history.
type object struct {
	id    gitwire.ObjectID
	kind  string // commit, tag or blob
	name  string
	needs []gitwire.ObjectID // what it leads to: parents and a blob, or what a tag is about
}

func (o object) size() int64 { return int64(len(o.line())) }

// line is the object as it stands in a pack.
func (o object) line() string {
	line := o.kind + " " + strconv.Quote(o.name)
	for _, id := range o.needs {
		line += " " + id.String()
	}
	return line + "\n"
}

// History makes objects and packs of them up. Any number of goroutines may use it; the zero value is an empty one.
type History struct {
	mu      sync.Mutex
	objects objects
}

type objects map[gitwire.ObjectID]object

func (h *History) add(o object) gitwire.ObjectID {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.id = gitwire.ObjectIDOf(sha1.Sum([]byte(o.line())))
	if h.objects == nil {
		h.objects = objects{}
	}
	h.objects[o.id] = o
	return o.id
}

// Commit makes a commit, with a blob of its own.
func (h *History) Commit(name string, parents ...gitwire.ObjectID) gitwire.ObjectID {
	return h.add(object{kind: "commit", name: name, needs: append(slices.Clone(parents), h.Blob(name))})
}

// Tag makes an annotated tag.
func (h *History) Tag(name string, of gitwire.ObjectID) gitwire.ObjectID {
	return h.add(object{kind: "tag", name: name, needs: []gitwire.ObjectID{of}})
}

// Blob makes something that leads nowhere.
func (h *History) Blob(name string) gitwire.ObjectID { return h.add(object{kind: "blob", name: name}) }

// All are the objects that tips lead to and haves do not.
func (h *History) All(tips, haves []gitwire.ObjectID) []gitwire.ObjectID {
	h.mu.Lock()
	defer h.mu.Unlock()
	without := h.objects.closure(haves, nil)
	var ids []gitwire.ObjectID
	for id := range h.objects.closure(tips, nil) {
		if _, ok := without[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, gitwire.ObjectID.Compare)
	return ids
}

// Pack is a pack of these objects.
func (h *History) Pack(ids []gitwire.ObjectID) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.objects.pack(ids)
}

// Objects are those in a pack.
func (h *History) Objects(pack []byte) ([]gitwire.ObjectID, error) {
	all, _, err := parsePack(pack)
	return slices.SortedFunc(maps.Keys(all), gitwire.ObjectID.Compare), err
}

func (all objects) pack(ids []gitwire.ObjectID) []byte {
	b := fmt.Appendf(nil, "FAKE%d\n", len(ids))
	for _, id := range ids {
		b = append(b, all[id].line()...)
	}
	return append(b, "end\n"...)
}

// closure is what ids lead to of these objects. What is nowhere is handed to lacks.
func (all objects) closure(ids []gitwire.ObjectID, lacks func(gitwire.ObjectID)) map[gitwire.ObjectID]struct{} {
	seen := map[gitwire.ObjectID]struct{}{}
	for todo := slices.Clone(ids); len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, ok := seen[id]; ok {
			continue
		}
		o, ok := all[id]
		if !ok {
			if lacks != nil {
				lacks(id)
			}
			continue
		}
		seen[id] = struct{}{}
		todo = append(todo, o.needs...)
	}
	return seen
}

// parsePack reads a pack.
func parsePack(b []byte) (objects, int64, error) {
	wrong := func(text string) (objects, int64, error) { return nil, 0, &gitrepo.PackError{Text: text} }
	head, rest, ok := bytes.Cut(b, []byte("\n"))
	count, magic := bytes.CutPrefix(head, []byte("FAKE"))
	n, err := strconv.Atoi(string(count))
	switch {
	case !magic && !bytes.HasPrefix([]byte("FAKE"), head):
		return wrong("what was sent is no pack")
	case !ok:
		return wrong("the pack ends too early: it was cut off on its way; push again")
	case err != nil:
		return wrong("the pack is damaged: " + err.Error())
	}
	all := objects{}
	for range n {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return wrong("the pack ends too early: it was cut off on its way; push again")
		}
		o, err := parseObject(string(line))
		if err != nil {
			return wrong("the pack is damaged: " + err.Error())
		}
		all[o.id], rest = o, after
	}
	if string(rest) != "end\n" {
		if bytes.HasPrefix([]byte("end\n"), rest) {
			return wrong("the pack ends too early: it was cut off on its way; push again")
		}
		return wrong("something follows the pack")
	}
	return all, int64(n), nil
}

func parseObject(line string) (o object, err error) {
	kind, rest, _ := strings.Cut(line, " ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return o, err
	}
	o.kind = kind
	if o.name, err = strconv.Unquote(quoted); err != nil {
		return o, err
	}
	for _, field := range strings.Fields(rest[len(quoted):]) {
		id, err := gitwire.ParseObjectID(field)
		if err != nil {
			return o, err
		}
		o.needs = append(o.needs, id)
	}
	if o.kind != "commit" && o.kind != "tag" && o.kind != "blob" {
		return o, fmt.Errorf("%q is no type", o.kind)
	}
	o.id = gitwire.ObjectIDOf(sha1.Sum([]byte(o.line())))
	return o, nil
}
