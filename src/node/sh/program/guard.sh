#if guard
# Asks the host, then becomes the program. Only status 78 refuses: whatever goes wrong here lets the program start.
imgmatch_guard() {
@facts@
printf '%s\n' '@rows@' | IMGMATCH_ROOT=$R IMGMATCH_FACTS=$f awk '
@awk@
' >&3
}
if [ "${IMGMATCH_GUARD-}" != off ]; then
  (imgmatch_guard 3>&2 2>/dev/null)
  if [ $? = 78 ] && [ "${IMGMATCH_GUARD-}" != warn ]; then exit 78; fi
fi
# With IMGMATCH_COMMAND the arguments stand in place of the entrypoint, whose words the name counts.
[ -z "${IMGMATCH_COMMAND-}" ] || shift "${0##*-}"
# A shell drops, adds and changes variables: the program gets those that this process got.
imgmatch_environment() {
  command -v env >/dev/null && tr '\000\n' '\n\001' </proc/$$/environ | LC_ALL=C awk '
    BEGIN { ORS = " "; print "env -i" }
    /^IMGMATCH_COMMAND=/ { next }
    { gsub(/\047/, "\047\"\047\"\047"); gsub(/\001/, "\n"); print "\047" $0 "\047" }'
}
[ $# = 0 ] || eval "exec $(imgmatch_environment 2>/dev/null) \"\$@\""
echo 'imgmatch: this image has no program to start' >&2
exit 127
#end
