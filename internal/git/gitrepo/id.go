package gitrepo

import (
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
)

// ID is the random name of a repository's directory. The zero ID stands for no repository.
type ID [16]byte

// NewID makes an ID of random bytes.
func NewID(rand io.Reader) (id ID, err error) {
	for err == nil && id.IsZero() {
		_, err = io.ReadFull(rand, id[:])
	}
	if err != nil {
		return ID{}, fmt.Errorf("a repository's id: %w", err)
	}
	return id, nil
}

// ParseID reads an ID as String writes it.
func ParseID(text string) (ID, error) {
	var id ID
	if n, err := hex.Decode(id[:], []byte(text[:min(len(text), 2*len(id))])); err != nil || n != len(id) || id.String() != text {
		return ID{}, fmt.Errorf("%.40q is no repository's id", text)
	}
	return id, nil
}

// IsZero reports whether the ID stands for no repository.
func (id ID) IsZero() bool { return id == ID{} }

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// In returns where the directory of the repository is, below the directory of all.
func (id ID) In(all string) string { return filepath.Join(all, filepath.FromSlash(id.path())) }

// path is where the directory is: two levels keep directories small.
func (id ID) path() string {
	name := id.String()
	return name[:2] + "/" + name[2:4] + "/" + name
}
