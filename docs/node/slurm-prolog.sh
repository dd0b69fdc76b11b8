#!/bin/sh
# Prolog of slurm.conf: writes the node's image into /run/imgmatch/image before a job starts.
# A broken host ends it with 1: Slurm then drains the node and gives the job to another one.
mkdir -p /run/imgmatch && sh /etc/imgmatch/fleet.sh >/run/imgmatch/.image
case $? in
0) mv /run/imgmatch/.image /run/imgmatch/image ;;
3) rm -f /run/imgmatch/.image /run/imgmatch/image ;; # no image fits: that is for the jobs that want one
*) rm -f /run/imgmatch/.image /run/imgmatch/image; exit 1 ;;
esac
