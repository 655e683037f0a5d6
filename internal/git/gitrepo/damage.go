package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// other is a file in a repository's directory that the repository does not need.
type other struct{ name, why string }

// others looks for files that graspd did not make, and for damaged files that git makes of packs to find objects sooner.
func (p *packs) others(ctx context.Context, repo ID) (found []other, err error) {
	for _, place := range []struct {
		dir   string
		known []string
	}{
		{"", []string{"HEAD", "HEAD.new", "packed-refs", "packed-refs.new", "gone", "gone.new", "combined", "refs", "objects"}},
		{"refs/", nil}, {"objects/", []string{"pack"}},
	} {
		entries, err := p.dir.list(repo.path() + "/" + place.dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !slices.Contains(place.known, e.Name()) {
				found = append(found, other{place.dir + e.Name(), fmt.Sprintf("there is a %.100q that is not ours", place.dir+e.Name())})
			}
		}
	}
	err = p.eachFile(repo, func(dir, name string) error {
		switch suffix := name[strings.LastIndexByte(name, '.')+1:]; {
		case suffix == "pack", suffix == "idx", suffix == "new":
			return nil
		case suffix != "rev" && suffix != "bitmap" && suffix != "mtimes" && name != midx:
			found = append(found, other{"objects/pack/" + name, fmt.Sprintf("there is a %.100q that is not ours", "objects/pack/"+name)})
			return nil
		}
		sound, _, err := p.dir.sound(ctx, dir+"/"+name)
		if err == nil && !sound {
			found = append(found, other{"objects/pack/" + name, "objects/pack/" + name + " is damaged, and can be done without"})
		}
		return err
	})
	return found, err
}

// damaged looks for damaged packs. A pack whose checksum is right is what it was when it was proven.
func (p *packs) damaged(ctx context.Context, repo ID) (problems []string, err error) {
	err = p.eachFile(repo, func(dir, file string) error {
		name, ok := strings.CutSuffix(file, ".idx")
		if !ok {
			return nil // a pack without an index was on its way in at a kill
		}
		sound, err := p.dir.soundPack(ctx, dir+"/"+name)
		if err == nil && !sound {
			problems = append(problems, name+" is damaged or not there")
		}
		return err
	})
	return problems, err
}

// linkSound links the packs of a repository that are not damaged into a directory under construction.
func (p *packs) linkSound(ctx context.Context, repo ID, to string) error {
	return p.eachFile(repo, func(dir, file string) error {
		name, ok := strings.CutSuffix(file, ".idx")
		if !ok {
			return nil
		}
		sound, err := p.dir.soundPack(ctx, dir+"/"+name)
		if err != nil || !sound {
			return err
		}
		return errors.Join(p.dir.link(dir+"/"+name+".pack", to+"/objects/pack/"+name+".pack"), p.dir.link(dir+"/"+file, to+"/objects/pack/"+file))
	})
}
