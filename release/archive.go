package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// packed is a file of an archive or of a package.
type packed struct {
	to   string // its path in there
	body []byte
	mode int64
}

// archived are the files of an archive: the program, what it says of itself, what there is to read, and what is meant to be edited.
func (b build) archived(binary string, made []text) ([]packed, error) {
	body, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	files := []packed{{"graspd", body, 0o755}}
	for _, m := range made {
		files = append(files, packed{path.Join("share", m.to), m.body, 0o644})
	}
	for _, top := range []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "docs", "deploy"} {
		more, err := under(b.source, top)
		if err != nil {
			return nil, err
		}
		for _, f := range more {
			f.body = b.named(f.to, f.body)
			files = append(files, f)
		}
	}
	return files, nil
}

// under are the files of a file or directory of the source, without pictures.
func under(source, top string) (files []packed, err error) {
	err = filepath.WalkDir(filepath.Join(source, top), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) == ".png" {
			return err
		}
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		to, err := filepath.Rel(source, name)
		mode := int64(0o644)
		if info, e := d.Info(); e == nil && info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		files = append(files, packed{filepath.ToSlash(to), body, mode})
		return err
	})
	return files, err
}

// writeArchive writes files, in the order of their names, into a directory of an archive, as nobody's and of one time.
func writeArchive(name, dir string, files []packed, at time.Time) error {
	files = slices.SortedFunc(slices.Values(files), func(a, b packed) int { return bytes.Compare([]byte(a.to), []byte(b.to)) })
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		h := tar.Header{Typeflag: tar.TypeReg, Name: path.Join(dir, f.to), Size: int64(len(f.body)), Mode: f.mode, ModTime: at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := t.Write(f.body); err != nil {
			return err
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}
