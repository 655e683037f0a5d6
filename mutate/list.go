package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// listDir holds the faults, below the root of the module: a file per package, named after it, of blocks separated by empty lines.
const listDir = "mutate/faults"

// readList reads the faults of all packages.
func readList(root string) (all []fault, err error) {
	dir := os.DirFS(filepath.Join(root, listDir))
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		faults, err := parseList(strings.TrimSuffix(name, ".txt"), string(b))
		all = append(all, faults...)
		return err
	})
	return all, err
}

func parseList(pkg, list string) (faults []fault, err error) {
	for block := range strings.SplitSeq(strings.TrimSpace(list), "\n\n") {
		f, ok, err := parseFault(pkg, block)
		if err != nil {
			return nil, err
		}
		if ok {
			faults = append(faults, f)
		}
	}
	return faults, nil
}

// note writes into the list which test caught a fault; "" is none.
func (f fault) note(root, test string) error {
	name := filepath.Join(root, listDir, f.pkg+".txt")
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	noted, err := noteIn(string(b), f, test)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(noted), 0o644)
}

func noteIn(list string, f fault, test string) (string, error) {
	blocks := strings.Split(strings.TrimSpace(list), "\n\n")
	for i, block := range blocks {
		if x, _, err := parseFault(f.pkg, block); err != nil || x.name != f.name {
			continue
		}
		lines := slices.DeleteFunc(strings.Split(block, "\n"), func(l string) bool { return strings.HasPrefix(l, caughtBy) })
		if test != "" {
			lines = slices.Insert(lines, slices.Index(lines, f.name)+1, caughtBy+test)
		}
		blocks[i] = strings.Join(lines, "\n")
		return strings.Join(blocks, "\n\n") + "\n", nil
	}
	return "", fmt.Errorf("%s: %q is not in the list any more", f.pkg, f.name)
}

// check reports what is wrong with the list: two faults of one name, those that cannot be planted or change nothing.
func check(root string, faults []fault) error {
	var errs []error
	seen := map[string]bool{}
	for _, f := range faults {
		at := path.Join(f.pkg, f.name)
		if seen[at] {
			errs = append(errs, fmt.Errorf("two faults of %s are called %q", f.pkg, f.name))
		}
		seen[at] = true
		if _, _, err := f.apply(root); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.name, err))
		}
		if f.old == f.new {
			errs = append(errs, fmt.Errorf("%s: changes nothing", f.name))
		}
	}
	return errors.Join(errs...)
}
