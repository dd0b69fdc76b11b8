/**
 * The shells' parts of completion. A typed word and a file's name are arguments and never text of a shell: TAB runs nothing that
 * somebody typed, or named a file.
 */

/** What the scripts of zsh and fish get where a path may stand. Bash takes paths where its script gets nothing. */
export const pathsWord = "__imgmatch_paths__";

export const bash = `_imgmatch_completion() {
  local words cword word
  if type _get_comp_words_by_ref &>/dev/null; then
    _get_comp_words_by_ref -n = -n @ -n : -w words -i cword
  else
    cword=$COMP_CWORD
    words=("\${COMP_WORDS[@]}")
  fi
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(SHELL=bash COMP_CWORD="$cword" imgmatch completion-server -- "\${words[@]}" 2>/dev/null)
  if type __ltrim_colon_completions &>/dev/null; then
    __ltrim_colon_completions "\${words[cword]}"
  fi
}
complete -o default -F _imgmatch_completion imgmatch
`;

// To complete paths below an expansion, as in `$HOME/`, zsh's own _path_files evaluates the word, commands in the word too.
export const zsh = `#compdef imgmatch
_imgmatch_completion() {
  local -a reply
  reply=(\${(f)"$(SHELL=zsh COMP_CWORD=$((CURRENT - 1)) imgmatch completion-server -- "\${words[@]}" 2>/dev/null)"})
  if [[ "$reply" != ${pathsWord} ]]; then
    _describe 'values' reply
  elif [[ "$compstate[quote]" == "'" || "$PREFIX" != (*\\\`*|*\\$[^A-Za-z_]*)/* ]]; then
    _files
  fi
}
# At the end of a file that zsh loads at the first TAB, the script answers. Else zsh sourced the script.
if [[ $zsh_eval_context == *func ]]; then
  _imgmatch_completion "$@"
else
  compdef _imgmatch_completion imgmatch
fi
`;

export const fish = `function _imgmatch_completion
  set -l before (commandline -opc)
  set -l last (commandline -ct)
  set -l suggested (env SHELL=fish COMP_CWORD=(count $before) imgmatch completion-server -- $before "$last" 2>/dev/null)
  if test "$suggested" = ${pathsWord}
    __fish_complete_path "$last"
  else
    string join \\n -- $suggested
  end
end
complete -f -c imgmatch -a '(_imgmatch_completion)'
`;
