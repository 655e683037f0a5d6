package nostr

import (
	"fmt"
	"strings"
)

// list reads an array and calls element where each element begins.
func (c *scanner) list(element func() error) error {
	if err := c.expect('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := c.more(first, ']')
		if err != nil || !ok {
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// object reads an object and calls value with each key where the key's value begins. An error of value gets the key's name.
func (c *scanner) object(value func(key string) error) error {
	if err := c.expect('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := c.more(first, '}')
		if err != nil || !ok {
			return err
		}
		k, err := c.key()
		if err != nil {
			return err
		}
		if err := value(k); err != nil {
			return fmt.Errorf("%s: %w", label(k), err)
		}
	}
}

// label returns a key as an error shows it: a short word unchanged, anything else cut and quoted.
func label(k string) string {
	const word = "#_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if k == "" || len(k) > 40 || strings.Trim(k, word) != "" {
		return fmt.Sprintf("%.40q", k)
	}
	return k
}

// appendStrings reads an array of strings and appends them.
func (c *scanner) appendStrings(dst []string) ([]string, error) {
	err := c.list(func() error {
		s, err := c.str()
		dst = append(dst, s)
		return err
	})
	return dst, err
}

// countStrings reads an array of strings and returns how many are in it.
func (c *scanner) countStrings() (n int, err error) {
	err = c.list(func() error {
		n++
		_, _, err := c.quoted()
		return err
	})
	return n, err
}
