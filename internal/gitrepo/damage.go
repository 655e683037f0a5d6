package gitrepo

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// other is something in a repository's directory that can be done without.
type other struct{ name, why string }

// others looks for what is not ours, and for damage to what git makes of packs to find things sooner.
func (d *Disk) others(ctx context.Context, repo ID) (found []other, err error) {
	for _, place := range []struct {
		dir   string
		known []string
	}{
		{"", []string{"HEAD", "HEAD.new", "packed-refs", "packed-refs.new", "gone", "gone.new", "refs", "objects"}},
		{"refs/", nil}, {"objects/", []string{"pack"}},
	} {
		entries, err := d.dir.list(repo.path() + "/" + place.dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !slices.Contains(place.known, e.Name()) {
				found = append(found, other{place.dir + e.Name(), fmt.Sprintf("there is a %.100q that is not ours", place.dir+e.Name())})
			}
		}
	}
	err = d.packs.eachFile(repo, func(dir, name string) error {
		switch suffix := name[strings.LastIndexByte(name, '.')+1:]; {
		case suffix == "pack", suffix == "idx", suffix == "new":
			return nil
		case suffix != "rev" && suffix != "bitmap" && suffix != "mtimes" && name != midx:
			found = append(found, other{"objects/pack/" + name, fmt.Sprintf("there is a %.100q that is not ours", "objects/pack/"+name)})
			return nil
		}
		sound, _, err := d.dir.sound(ctx, dir+"/"+name)
		if err == nil && !sound {
			found = append(found, other{"objects/pack/" + name, "objects/pack/" + name + " is damaged, and can be done without"})
		}
		return err
	})
	return found, err
}

// damaged looks for damage to packs, which are what they were when they were proven if their checksums are.
func (d *Disk) damaged(ctx context.Context, repo ID) (problems []string, err error) {
	err = d.packs.eachFile(repo, func(dir, file string) error {
		name, ok := strings.CutSuffix(file, ".idx")
		if !ok {
			return nil // a pack without an index was on its way in at a kill
		}
		sound, err := d.dir.soundPack(ctx, dir+"/"+name)
		if err == nil && !sound {
			problems = append(problems, name+" is damaged or not there")
		}
		return err
	})
	return problems, err
}
