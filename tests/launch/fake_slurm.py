"""Programs called like Slurm's that keep the batch script they are given, for tests without a cluster."""

import sys
from pathlib import Path

SBATCH = """#!/bin/sh
for script; do :; done
cp "$script" "$KEPT"
echo "Submitted batch job 7"
"""
# Imports what Python itself imports, in place of the task.
SRUN = f"""#!/bin/sh
exec {sys.executable} -c 'import json, random'
"""


def fake_slurm(folder: Path) -> dict[str, str]:
    """The environment of a process that finds these programs, and `KEPT`, the file that the script is kept in."""
    programs = {
        "sbatch": SBATCH,
        "srun": SRUN,
        "squeue": "#!/bin/sh\n",
        "scontrol": "#!/bin/sh\n",
    }
    folder.mkdir()
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {"KEPT": str(folder / "script.sh")}
