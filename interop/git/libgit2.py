"""A client of libgit2: libgit2.py VERB URL DIRECTORY [ARGUMENT], see clients_test.go."""

import sys

import pygit2


class Callbacks(pygit2.RemoteCallbacks):
    """Shows what a person sees who uses libgit2, and fails where a ref is refused, which libgit2 itself does not."""

    refused = False

    def sideband_progress(self, string):
        sys.stderr.write(string)

    def push_update_reference(self, refname, message):
        if message is not None:
            self.refused = True
            print(f"{refname}: {message}", file=sys.stderr)


def main(verb, url, directory, *arguments):
    callbacks = Callbacks()
    if verb == "clone":
        pygit2.clone_repository(url, directory, callbacks=callbacks)
    elif verb == "shallow":
        pygit2.clone_repository(url, directory, callbacks=callbacks, depth=1)
    elif verb == "fetch":
        pygit2.Repository(directory).remotes["origin"].fetch(callbacks=callbacks)
    elif verb == "deepen":
        pygit2.Repository(directory).remotes["origin"].fetch(callbacks=callbacks, depth=0x7FFFFFFF)
    elif verb == "id":
        remote = pygit2.Repository(directory).remotes.create_anonymous(url)
        remote.fetch(list(arguments), callbacks=callbacks)
    elif verb == "push":
        remote = pygit2.Repository(directory).remotes.create_anonymous(url)
        remote.push(list(arguments), callbacks=callbacks)
        if callbacks.refused:
            sys.exit(1)
    else:
        sys.exit("libgit2 has no way to do this")


main(*sys.argv[1:])
