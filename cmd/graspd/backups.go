package main

import (
	"fmt"
	"path/filepath"
)

// backupsBeside returns a problem where backups would go into the data directory, and be lost with it.
func (c *Config) backupsBeside() []string {
	if c.Backups.Dir == "" {
		return nil
	}
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return []string{fmt.Sprintf("--data: %v", err)}
	}
	dir, err := filepath.Abs(c.Backups.Dir)
	if err != nil {
		return []string{fmt.Sprintf("--backup-dir: %v", err)}
	}
	if inside, err := filepath.Rel(data, dir); err == nil && filepath.IsLocal(inside) {
		return []string{fmt.Sprintf("--backup-dir: %s is in the data directory, and would be lost with it: give one on another disk", c.Backups.Dir)}
	}
	return nil
}
