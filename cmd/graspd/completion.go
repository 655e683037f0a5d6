package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// completers returns a writer of the completion script for each shell.
func completers() map[string]func(io.Writer) {
	return map[string]func(io.Writer){"bash": completeBash, "zsh": completeZsh, "fish": completeFish}
}

// shells returns the names of the shells that graspd can complete for.
func shells() []string { return slices.Sorted(maps.Keys(completers())) }

// completionCommand writes the completion script of a shell.
func completionCommand(_ context.Context, args []string, std stdio, env environment) error {
	rest, problems, err := parse("completion", nil, args, std, env)
	if err != nil {
		return err
	}
	if len(rest) != 1 || completers()[rest[0]] == nil {
		problems = append(problems, fmt.Sprintf("completion takes one of %s, got %q", strings.Join(shells(), ", "), rest))
	}
	if err := misused(problems); err != nil {
		return err
	}
	completers()[rest[0]](std.out)
	return nil
}

// choices returns the values of a flag that takes only a few; nil for any other flag.
func (s setting) choices() []string {
	switch {
	case s.placeholder == "LEVEL":
		return []string{"debug", "info", "warn", "error"}
	case strings.Contains(s.placeholder, "|") && strings.ToLower(s.placeholder) == s.placeholder:
		return strings.Split(s.placeholder, "|")
	}
	return nil
}

// commandNames returns the names of all commands, and help.
func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return append(names, "help")
}

func completeBash(w io.Writer) {
	fmt.Fprintf(w, `# bash completion of graspd, made by "graspd completion bash".
_graspd() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]} flags= values=
	COMPREPLY=()
	if [[ $COMP_CWORD -eq 1 && $cur != -* ]]; then
		COMPREPLY=($(compgen -W %q -- "$cur"))
		return
	fi
	if [[ $cmd == -* ]]; then cmd=serve; fi
	case $cmd in
	help) COMPREPLY=($(compgen -W %q -- "$cur")); return ;;
`, strings.Join(commandNames(), " "), strings.Join(commandNames(), " "))
	for _, c := range commands() {
		if rows := c.rows(nil); len(rows)+len(c.words) > 0 {
			fmt.Fprintf(w, "\t%s) flags=%q", c.name, "--"+strings.Join(namesOf(rows), " --"))
			if len(c.words) > 0 {
				fmt.Fprintf(w, "; if [[ $COMP_CWORD -eq 2 ]]; then values=%q; fi", strings.Join(c.words, " "))
			}
			fmt.Fprint(w, " ;;\n")
		}
	}
	fmt.Fprint(w, "\tesac\n\tcase $prev in\n")
	for _, r := range everyFlag() {
		if values := r.choices(); values != nil {
			fmt.Fprintf(w, "\t--%s) values=%q ;;\n", r.name, strings.Join(values, " "))
		}
	}
	fmt.Fprint(w, `	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$flags" -- "$cur"))
	elif [[ -n $values ]]; then
		COMPREPLY=($(compgen -W "$values" -- "$cur"))
	else
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -o filenames -F _graspd graspd
`)
}

func completeZsh(w io.Writer) {
	fmt.Fprint(w, "#compdef graspd\n# zsh completion of graspd, made by \"graspd completion zsh\".\n\n_graspd() {\n\tlocal cmd=serve\n\tlocal -a commands\n\tcommands=(\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "\t\t%s\n", quoted(c.name+":"+c.about))
	}
	fmt.Fprintf(w, `		'help:tell of the commands that are named'
	)
	if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
		_describe command commands
		return
	fi
	if [[ $words[2] != -* ]]; then
		cmd=$words[2]
		shift words
		(( CURRENT-- ))
	fi
	case $cmd in
	help) _describe command commands ;;
`)
	inZsh := strings.NewReplacer("[", "\\[", "]", "\\]", ":", "\\:")
	for _, c := range commands() {
		rows := c.rows(nil)
		if len(rows)+len(c.words) == 0 {
			continue
		}
		fmt.Fprintf(w, "\t%s) _arguments", c.name)
		if len(c.words) > 0 {
			fmt.Fprintf(w, " \\\n\t\t'1:what:(%s)'", strings.Join(c.words, " "))
		}
		for _, r := range rows {
			spec := "*--" + r.name + "[" + inZsh.Replace(r.about) + "]"
			switch {
			case r.isBool:
				spec = "*--" + r.name + "=-[" + inZsh.Replace(r.about) + "]::on or off:(true false)"
			case r.choices() != nil:
				spec += ":" + inZsh.Replace(r.placeholder) + ":(" + strings.Join(r.choices(), " ") + ")"
			default:
				spec += ":" + inZsh.Replace(r.placeholder) + ":_files"
			}
			fmt.Fprintf(w, " \\\n\t\t%s", quoted(spec))
		}
		fmt.Fprint(w, " \\\n\t\t'*:file:_files' ;;\n")
	}
	fmt.Fprint(w, "\tesac\n}\n\nif [ \"$funcstack[1]\" = _graspd ]; then\n\t_graspd \"$@\"\nelse\n\tcompdef _graspd graspd\nfi\n")
}

func completeFish(w io.Writer) {
	fmt.Fprint(w, `# fish completion of graspd, made by "graspd completion fish".
function __graspd_command
	set -l words (commandline -opc)
	if set -q words[2]; and not string match -q -- '-*' $words[2]
		echo $words[2]
	else
		echo serve
	end
end
function __graspd_at
	test (count (commandline -opc)) -eq $argv[1]
end
`)
	for _, c := range commands() {
		fmt.Fprintf(w, "complete -c graspd -n '__graspd_at 1' -f -a %s -d %s\n", c.name, inFish(c.about))
	}
	fmt.Fprintf(w, "complete -c graspd -n '__graspd_at 1' -f -a help -d %s\n", inFish("show the help of a command"))
	fmt.Fprintf(w, "complete -c graspd -n %s -f -a %s\n", ofCommand("help"), inFish(strings.Join(commandNames(), " ")))
	for _, c := range commands() {
		if len(c.words) > 0 {
			fmt.Fprintf(w, "complete -c graspd -n %s -f -a %s\n", inFish("__graspd_at 2; and test (__graspd_command) = "+c.name), inFish(strings.Join(c.words, " ")))
		}
		for _, r := range c.rows(nil) {
			fmt.Fprintf(w, "complete -c graspd -n %s -l %s", ofCommand(c.name), r.name)
			switch {
			case r.isBool:
			case r.choices() != nil:
				fmt.Fprintf(w, " -x -a %s", inFish(strings.Join(r.choices(), " ")))
			default:
				fmt.Fprint(w, " -r")
			}
			fmt.Fprintf(w, " -d %s\n", inFish(r.about))
		}
	}
}

// ofCommand is the condition in fish that a line is of a command.
func ofCommand(name string) string { return inFish("test (__graspd_command) = " + name) }

// everyFlag returns every flag of any command, each once.
func everyFlag() (all []setting) {
	for _, c := range commands() {
		for _, r := range c.rows(nil) {
			if !slices.ContainsFunc(all, func(x setting) bool { return x.name == r.name }) {
				all = append(all, r)
			}
		}
	}
	return all
}

func namesOf(rows []setting) (names []string) {
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}

// quoted writes a text as one word of a POSIX shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// inFish writes a text as one word of fish.
func inFish(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
