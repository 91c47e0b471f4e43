# The front door. `make demo` shows the whole road, `make test` proves that it holds.
#
#   make demo     install into .venv, then new -> check -> build -> train -> eval
#   make test     install what the tests need, lint, run all of them: a short form of every proof
#   make quick    the tests of what you changed, within a minute; BASE=main compares with main
#   make test-long    the long forms: all seeds, kills and peers; writes docs/data/long-tests.json, and
#                 others' test suites on what we give out: docs/data/suites.json.
#                 GYMNASIUM=../Gymnasium and CLEANRL=../cleanrl are checkouts of theirs; without
#                 them, what needs them is reported as not run
#   make fuzz MINUTES=10   damaged and hostile files against the guarantees for them; writes
#                 docs/data/fuzz.json. Without MINUTES the counts of tools/fuzz.py, hours; Ctrl-C
#                 ends one kind of files with what there is
#   make mutants  break the project's code in 100 places and run the tests; an hour or two
#   make size     lines and bytes of tracked text, by room
#   make format   clang-format over our C, ruff over our Python
#   make bench    measure what the docs state; writes docs/data/benchmarks.json, checker.json
#   make bench-gpu   the same for a GPU: kernels, speed, solving; writes docs/data/benchmarks-gpu.json
#   make gpu-day     the first hours on a GPU, in stages: make gpu-day STAGE=look
#   make cuda     compile the trainer for four generations of GPUs; needs no GPU
#   make deps     system packages (a compiler, git), through apt-get as root
#   make ocean SRC=PufferLib VERSION=4.0 ONLY="pong snake"   try a checkout's environments, train on
#                 each, and renew docs/data/ocean.json and the gallery; without ONLY: all, hours.
#                 CHECKS=1: renew what check found, and keep each row's training
#   make docs     the site of docs/, into build/site; needs emscripten (make deps)
#   make serve-docs    the same on http://127.0.0.1:8000, made again whenever a page is saved
#   make docs-images   train environments and record the GIFs of README and pages
#   make docs-tables   write into the pages what is made: listings, tables, reference pages
#   make container-test   the Dockerfile's steps in a clean root file system; root on Debian
#   make release-check    a release without its upload: sdist, wheel, the ten-minute page with each
#   make clean    remove .venv and what was generated

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEMO   ?= demo
TORCH  ?= torch==2.13.0
TORCHRL ?= torchrl==0.14.1

# Each command of the tests is a process of its own: modules are compiled once, not each time
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test all-tests style types quick test-long mutants fuzz format bench bench-gpu gpu-day \
        cuda ocean deps docs serve-docs docs-tables docs-images size lint clean container-test release-check

demo: $(VENV)/.base
	@$(BIN)/python tools/demo.py $(DEMO)

# mypy needs one core for most of a minute, and a third of the workers fills the cores while tests
# of kills, windows and networks wait
test: deps $(VENV)/.dev $(VENV)/.torch style
	@$(MAKE) --no-print-directory -j 2 types all-tests

all-tests: $(VENV)/.dev $(VENV)/.torch
	env -u MAKEFLAGS $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -q

quick: $(VENV)/.dev lint
	@$(BIN)/python tools/quick.py $(BASE)

test-long: $(VENV)/.dev $(VENV)/.torch
	@sh tools/deps.sh long
	@$(BIN)/python tools/long_tests.py
	@$(BIN)/python tools/suites.py sb3
	@$(BIN)/python tools/suites.py gymnasium $(GYMNASIUM)
	@$(BIN)/python tools/site/pages.py

mutants: deps $(VENV)/.dev $(VENV)/.torch
	@$(BIN)/python tools/long_tests.py mutants

fuzz: deps $(VENV)/.dev
	@$(BIN)/python tools/fuzz.py $(or $(MINUTES),--full)

size: $(VENV)/.base
	@$(BIN)/python tools/size.py

lint: style types

style: $(VENV)/.dev
	$(BIN)/ruff check .
	@$(BIN)/python tools/formatting.py

types: $(VENV)/.dev $(VENV)/.torch
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/python tools/formatting.py --write

bench: $(VENV)/.torch $(VENV)/.dev
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/bench_train.py
	$(BIN)/python benchmarks/bench_check.py
	$(BIN)/python benchmarks/bench_check_python.py
	$(BIN)/python benchmarks/bench_see.py
	$(BIN)/python benchmarks/bench_sweep.py
	$(BIN)/python benchmarks/bench_claims.py
	$(BIN)/python benchmarks/bench_bridges.py
	$(BIN)/python benchmarks/bench_outward.py
	$(BIN)/python benchmarks/bench_scale.py
	@$(BIN)/python tools/site/pages.py

cuda: $(VENV)/.base
	@$(BIN)/python -m puffer_sdk.training.native.cuda build/cuda/puffer_cuda.so

bench-gpu: $(VENV)/.torch $(VENV)/.dev
	@$(BIN)/python benchmarks/bench_gpu.py
	@$(BIN)/python tools/site/pages.py

gpu-day: $(VENV)/.torch $(VENV)/.dev
	@$(BIN)/python tools/gpu_day.py $(STAGE)

ocean: deps $(VENV)/.dev
	@test -n "$(SRC)" || { echo "error: say where the checkout is: make ocean SRC=../PufferLib"; exit 2; }
	@$(BIN)/puffer-sdk ocean "$(SRC)" $(if $(CHECKS),,--programs --train 5000000) \
		--output build/ocean $(addprefix --only ,$(ONLY)) || test $$? = 1
	@$(BIN)/python tools/gallery.py "$(or $(VERSION),4.0)" build/ocean/survey.json \
		$(if $(CHECKS),--checks)
	@$(BIN)/python tools/site/pages.py

container-test:
	@$(PYTHON) tools/container.py Dockerfile

release-check: $(VENV)/.dev
	@$(BIN)/python tools/release_check.py

docs: $(VENV)/.docs
	@echo "the pages' games are compiled for the browser and trained: minutes at first, then they are kept"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "made     build/site/index.html"

serve-docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

docs-tables: $(VENV)/.dev
	@$(BIN)/python tools/site/pages.py

docs-images: $(VENV)/.base
	@$(BIN)/python tools/pictures.py

deps:
	@sh tools/deps.sh

# Each stamp is a finished installation; it is done again when pyproject.toml changes. The first one
# builds the package, the others add what its extras name
$(VENV)/.base: pyproject.toml
	@$(PYTHON) -m venv $(VENV) || { echo "error: cannot make $(VENV); on Debian: apt-get install python3-venv"; exit 2; }
	@echo "installing puffer-sdk into $(VENV) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

# The tests' referee, what `make bench` compares with, and two libraries on top of it. By version, so
# that everybody measures the same; TORCH=torch takes the newest
$(VENV)/.torch: $(VENV)/.base
	@echo "installing PyTorch ..."
	@$(BIN)/python -m pip install -q --no-compile --disable-pip-version-check $(TORCH) $(TORCHRL) 'puffer-sdk[torch,sb3]'
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@echo "installing what the tests need ..."
	@$(BIN)/python -m pip install -q --no-compile --disable-pip-version-check 'puffer-sdk[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.base
	@echo "installing what the site is made with ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) build dist runs $(DEMO) .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
