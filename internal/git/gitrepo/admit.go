package gitrepo

import (
	"errors"
	"fmt"
)

// Admit links the pack of a quarantine into the repository. When Admit returns nil, the pack is durable and complete there.
func (d *Disk) Admit(from Quarantine, repo ID) error {
	q, ok := from.(*quarantine)
	if !ok || q.d != d || !q.proven || q.closed || repo.IsZero() {
		return errors.New("admitting: what is proven in a quarantine can be admitted into a repository, and nothing else")
	}
	r, unlock := d.inUse.lock(repo)
	defer unlock()
	if !q.next.is(r) {
		if err := d.standsAlone(q, repo); err != nil {
			return fmt.Errorf("admitting into repository %s: %w", repo, err)
		}
	}
	if q.pack == "" {
		return nil
	}
	if err := d.linkPack(q, repo, r); err != nil {
		return fmt.Errorf("admitting into repository %s: %w", repo, err)
	}
	return nil
}

// Prepare makes the directory of a repository that is to come, durably: that takes longer than Admit, which finds it then. Who has no use for the
// repository after all calls unneeded, which removes it with what was admitted.
func (d *Disk) Prepare(repo ID) (unneeded func() error, err error) {
	_, unlock := d.inUse.lock(repo)
	defer unlock()
	if err := d.dir.begin(repo); err != nil {
		return nil, fmt.Errorf("preparing repository %s: %w", repo, errors.Join(err, d.dir.root.RemoveAll(repo.path())))
	}
	return func() error { return d.unprepare(repo) }, nil
}

func (d *Disk) unprepare(repo ID) error {
	_, unlock := d.inUse.lock(repo)
	defer unlock()
	d.packs.drop(repo)
	d.clones.forget(repo)
	if err := d.dir.root.RemoveAll(repo.path()); err != nil {
		return fmt.Errorf("repository %s, which is not needed: %w", repo, noted(err))
	}
	return nil
}

// standsAlone fails where a quarantine builds on what a repository does not have.
func (d *Disk) standsAlone(q *quarantine, repo ID) error {
	if q.needsOther {
		return errors.New("the quarantine builds on too many objects of the repository that it is beside")
	}
	lacks, err := d.Missing(repo, q.needs)
	if err == nil && len(lacks) > 0 {
		err = missing(lacks)
	}
	return err
}

// linkPack links the pack, and then its index, by which git finds it.
func (d *Disk) linkPack(q *quarantine, repo ID, r *repository) error {
	if err := d.dir.begin(repo); err != nil {
		return err
	}
	packs := repo.path() + "/objects/pack/"
	defer d.packs.drop(repo)
	d.clones.forget(repo)
	if r.maintenance != nil {
		r.maintenance.admitted(q.pack)
	}
	for _, suffix := range []string{".pack", ".idx"} {
		if err := d.dir.link(q.file(suffix), packs+q.pack+suffix); err != nil {
			return err
		}
	}
	if err := d.dir.sync(packs); err != nil {
		return err
	}
	if err := d.inUse.rescue(repo, r, q.pack); err != nil || d.local == nil {
		return err
	}
	return d.local.weigh(repo)
}
