package gitrepo

// BeforeChange has a function called before each change of a file.
func (d *Disk) BeforeChange(do func()) { d.changes = do }
