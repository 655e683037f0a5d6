package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// Project writes packed-refs and HEAD anew and makes them durable, with the generation of these refs, which Generation returns from then on. A
// repository never has loose refs. Project does nothing where the repository has no directory.
func (d *Disk) Project(repo ID, generation uint64, refs *gitwire.Refs) error {
	_, unlock := d.inUse.lock(repo)
	defer unlock()
	if err := d.dir.writeRefs(repo, generation, refs); err != nil {
		return fmt.Errorf("refs of repository %s: %w", repo, err)
	}
	return nil
}

// Generation returns the generation of the refs that the files of a repository have; 0 where nobody knows it.
func (d *Disk) Generation(repo ID) (uint64, error) {
	f, err := d.dir.root.Open(repo.path() + "/packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("refs of repository %s: %w", repo, err)
	}
	begins := make([]byte, len(packedHead)+len(packedAs)+maxDigits+len(packedEnd))
	n, err := io.ReadFull(f, begins)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, fmt.Errorf("refs of repository %s: %w", repo, err)
	}
	generation, _ := cutPacked(begins[:n])
	return generation, nil
}

// packed-refs begins with a line of what git may rely on there. git passes over words that it does not know, so the generation stands among these: no
// kill parts it from its refs.
const (
	packedHead = "# pack-refs with: peeled fully-peeled sorted "
	packedAs   = "generation="
	packedEnd  = " \n"
	maxDigits  = 20
)

// appendHead appends the first line of packed-refs; a generation of 0 is not told.
func appendHead(dst []byte, generation uint64) []byte {
	dst = append(dst, packedHead...)
	if generation == 0 {
		return append(dst, '\n')
	}
	return append(strconv.AppendUint(append(dst, packedAs...), generation, 10), packedEnd...)
}

// cutPacked returns the generation that packed-refs tells, and what follows its first line. Of what Project did not write it is 0 and all.
func cutPacked(b []byte) (generation uint64, rest []byte) {
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	text, _ := bytes.CutPrefix(line, []byte(packedHead+packedAs))
	generation, _ = strconv.ParseUint(string(bytes.TrimSuffix(text, []byte(" "))), 10, 64)
	if !bytes.HasPrefix(b, appendHead(nil, generation)) {
		return 0, b
	}
	return generation, rest
}

// writeRefs writes HEAD first: where packed-refs tells a generation, HEAD is of that one or a later one. The caller holds the repository's lock.
func (d *directory) writeRefs(repo ID, generation uint64, refs *gitwire.Refs) error {
	packed, head, err := files(generation, refs)
	if err != nil {
		return err
	}
	there, err := d.exists(repo)
	if err != nil {
		return err
	}
	if !there && len(refs.List) == 0 {
		return nil
	}
	if !there {
		return ErrNoRepository
	}
	dir := repo.path()
	for _, file := range []struct {
		name    string
		content []byte
	}{{dir + "/HEAD", head}, {dir + "/packed-refs", packed}} {
		old, err := d.root.ReadFile(file.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && bytes.Equal(old, file.content) {
			continue
		}
		if err := d.replace(file.name, file.content); err != nil {
			return err
		}
		if err := d.sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// CheckRefs returns an error where one of the refs has a name or an id that git would not take in a file of refs.
func CheckRefs(refs *gitwire.Refs) error {
	last := ""
	for _, ref := range refs.List {
		if err := gitwire.CheckRefName(ref.Name); err != nil {
			return err
		}
		if ref.Name <= last || ref.ID.IsZero() {
			return fmt.Errorf("%s is not in order, or has no value", ref.Name)
		}
		last = ref.Name
	}
	if refs.Head != "" {
		if err := gitwire.CheckRefName(refs.Head); err != nil {
			return fmt.Errorf("HEAD: %w", err)
		}
	}
	return nil
}

// files returns the contents that packed-refs and HEAD should have.
func files(generation uint64, refs *gitwire.Refs) (packed, head []byte, err error) {
	if err := CheckRefs(refs); err != nil {
		return nil, nil, err
	}
	packed = appendHead(nil, generation)
	for _, ref := range refs.List {
		packed = append(append(append(ref.ID.AppendHex(packed), ' '), ref.Name...), '\n')
		if !ref.Peeled.IsZero() {
			packed = append(ref.Peeled.AppendHex(append(packed, '^')), '\n')
		}
	}
	if refs.Head == "" {
		return packed, []byte(noHead), nil
	}
	return packed, []byte("ref: " + refs.Head + "\n"), nil
}
