package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const sumsName = "SHA256SUMS"

// writeSums writes the checksums of a directory into it, as sha256sum -c reads them.
func writeSums(dir string) error {
	sums, err := sumsOf(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsName), []byte(sums), 0o644)
}

func sumsOf(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var sums strings.Builder
	for _, f := range files {
		if f.Name() == sumsName {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(body), f.Name())
	}
	return sums.String(), nil
}

// same fails where two directories have not the same files, and names those that differ.
func same(one, other string) error {
	a, err := sumsOf(one)
	if err != nil {
		return err
	}
	b, err := sumsOf(other)
	if err != nil {
		return err
	}
	var errs []error
	for line := range strings.Lines(a) {
		if !strings.Contains(b, line) {
			errs = append(errs, fmt.Errorf("made again, it is another file: %s", strings.Fields(line)[1]))
		}
	}
	if len(errs) == 0 && a != b {
		return errors.New("made again, there are more files")
	}
	return errors.Join(errs...)
}
